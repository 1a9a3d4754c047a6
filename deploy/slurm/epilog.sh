#!/bin/sh
# Copyright The gpureceiver Authors
# SPDX-License-Identifier: Apache-2.0
#
# An Epilog of Slurm: removes what prolog.sh has noted of the job, and nothing of other jobs. It never fails, because Slurm drains a node
# whose epilog does.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022

dir=${GPU_JOB_MAPPING_DIR:-/run/slurm-gpu-jobs}
job=${SLURM_JOB_ID:-}

case $job in
'' | *[!0-9]*) exit 0 ;;
esac
[ -d "$dir" ] || exit 0

exec 9>"$dir/.lock" || exit 0
command -v flock >/dev/null && flock -w 10 9

for file in "$dir"/[0-9]* "$dir"/GPU-* "$dir"/MIG-*; do
	[ -f "$file" ] && grep -qx "$job" "$file" || continue
	new=$(mktemp "$dir/.new.XXXXXX") || continue
	if grep -vx "$job" "$file" >"$new"; then
		chmod 644 "$new" && mv -f "$new" "$file"
	else # no other job
		rm -f "$new" "$file"
	fi
done
rm -f "$dir/job.$job"
exit 0
