// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { look } from "../core/state";
import { Icon } from "./icon";

/** Status is a GPU's state: a sign and a word. */
export function Status({ of }: { of: { status: string | null; stale?: boolean } }) {
  const l = look(of);
  return <Badge kind={l.kind} word={l.word} />;
}

export function Badge({ kind, word }: { kind: string; word: string }) {
  return (
    <span class={`badge badge-${kind}`}>
      <Icon name={kind} />
      {word}
    </span>
  );
}
