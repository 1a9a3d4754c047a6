#!/bin/sh
# Copyright The gpureceiver Authors
# SPDX-License-Identifier: Apache-2.0
#
# A Prolog of Slurm: notes which GPUs the job holds, for attribution::slurm::mapping_dir and for dcgm-exporter's --hpc-job-mapping-dir.
# For each GPU it keeps a file with a job ID on each line, whose name is the number of the GPU, or the ID of a MIG instance; and job.<id> with
# the job's user, account and partition. With epilog.sh, which removes them. In slurm.conf:
#
#   Prolog=/etc/slurm/prolog.d/*
#   Epilog=/etc/slurm/epilog.d/*
#   PrologFlags=Alloc        # at the allocation, not at the first step
#
# It never fails, because Slurm drains a node whose prolog does. What Slurm sets: https://slurm.schedmd.com/prolog_epilog.html
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022

dir=${GPU_JOB_MAPPING_DIR:-/run/slurm-gpu-jobs}
job=${SLURM_JOB_ID:-}

# names prints the GPUs of the job, one a line: numbers, or the IDs of MIG instances.
names() {
	case ${CUDA_VISIBLE_DEVICES:-} in
	*MIG-*) list=$CUDA_VISIBLE_DEVICES ;;
	*) list=${SLURM_JOB_GPUS:-} ;;
	esac
	printf '%s\n' "$list" | tr ',' '\n' | while read -r name; do
		case $name in
		'' | *[!0-9A-Za-z-]*) ;;
		MIG-* | GPU-*) printf '%s\n' "$name" ;;
		*[!0-9-]*) ;;
		[0-9]*-[0-9]*) # a range
			n=${name%%-*}
			while [ "$n" -le "${name##*-}" ]; do
				printf '%s\n' "$n"
				n=$((n + 1))
			done
			;;
		*-*) ;;
		*) printf '%s\n' "$name" ;;
		esac
	done
}

# replace makes standard input the content of a file, so that a reader sees the file before or after.
replace() {
	new=$(mktemp "$dir/.new.XXXXXX") || return
	if cat >"$new" && chmod 644 "$new"; then
		mv -f "$new" "$dir/$1"
	else
		rm -f "$new"
	fi
}

plain() { printf '%s' "$1" | tr -d '[:cntrl:]'; }

case $job in
'' | *[!0-9]*) exit 0 ;;
esac
gpus=$(names)
[ -n "$gpus" ] || exit 0
mkdir -p "$dir" || exit 0

# Prologs and epilogs of jobs that share a GPU wait for each other.
exec 9>"$dir/.lock" || exit 0
command -v flock >/dev/null && flock -w 10 9

printf 'user=%s\naccount=%s\npartition=%s\n' "$(plain "${SLURM_JOB_USER:-}")" "$(plain "${SLURM_JOB_ACCOUNT:-}")" \
	"$(plain "${SLURM_JOB_PARTITION:-}")" | replace "job.$job"
for gpu in $gpus; do
	{
		[ ! -f "$dir/$gpu" ] || grep -vx "$job" "$dir/$gpu"
		printf '%s\n' "$job"
	} | replace "$gpu"
done
exit 0
