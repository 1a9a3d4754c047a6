// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

import { filterOf, Filters } from "../parts/filters";
import { Paged } from "../parts/paged";
import { PROCESS_COLUMNS, processKey } from "../parts/process-table";

const FILTERS: [string, string][] = [["cluster", "Cluster"], ["node", "Node"], ["namespace", "Namespace"], ["pod", "Pod"], ["gpu", "GPU"]];

/** ProcessesView lists the processes on all GPUs, with their pods. */
export function ProcessesView({ params }: { params: URLSearchParams }) {
  return (
    <>
      <h1>Processes and pods</h1>
      <Filters names={FILTERS} params={params} />
      <Paged
        route="processes"
        filter={filterOf(FILTERS.map(([key]) => key), params)}
        sort={params.get("sort") ?? "-memory_bytes"}
        caption="Processes"
        columns={PROCESS_COLUMNS}
        id={processKey}
        empty="No process is known. Processes of other containers are visible only with the host's PID namespace."
      />
    </>
  );
}
