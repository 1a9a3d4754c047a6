#!/usr/bin/env bash
# Starts PostgreSQL and MariaDB, runs a command with their URLs in LEDGER_POSTGRES and LEDGER_MARIADB, and stops them. The servers are the
# machine's own or those of Debian's packages, which are unpacked and not installed. A server that cannot be had is reported, and has no URL.
# Both have a certificate for 127.0.0.1, in the file LEDGER_CERTIFICATE. A server that is killed starts again; its process is in the file LEDGER_POSTGRES_PID or LEDGER_MARIADB_PID.
#
#   servers.sh go test ./...
#
#   LEDGER_PACKAGES   where the packages are kept; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/databases unless set
set -euo pipefail
packages=${LEDGER_PACKAGES:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/databases}
dir=$(mktemp -d "${TMPDIR:-/tmp}/ledger.XXXXXX")
pids=()
stop() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
	rm -rf "$dir"
}
trap stop EXIT

# Neither server runs as root.
as=()
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$dir")
	chown 65534:65534 "$dir"
fi

# unpack DIRECTORY PACKAGE...: from the packages that are kept, or downloaded.
unpack() {
	local root=$1 package
	shift
	command -v apt-get >/dev/null || return
	mkdir -p "$packages" "$root"
	for package; do
		if ! ls "$packages/$package"_*.deb >/dev/null 2>&1; then
			(cd "$packages" && { apt-get download -q "$package" || { apt-get update -q && apt-get download -q "$package"; }; }) >>"$dir/log" 2>&1 || return
		fi
		dpkg -x "$packages/$package"_*.deb "$root" || return
	done
	chmod -R a+rX "$root"
}

free_port() { # of the loopback
	local port
	while :; do
		port=$((20000 + RANDOM % 10000))
		(: </dev/tcp/127.0.0.1/$port) 2>/dev/null || { echo "$port"; return; }
	done
}

wait_for_port() { # PORT PID
	until (: </dev/tcp/127.0.0.1/"$1") 2>/dev/null; do
		kill -0 "$2" 2>/dev/null || return
		sleep 0.1
	done
}

# serve NAME COMMAND...: runs a server. If it was killed, it starts again, and again while what is left of the former one holds its data.
serve() {
	local name=$1 pid status killed= stopped=
	shift
	trap 'stopped=1; kill "$pid"' TERM
	while :; do
		"$@" >>"$dir/$name.log" 2>&1 &
		pid=$!
		echo "$pid" >"$dir/$name.pid"
		status=0
		wait "$pid" || status=$?
		if [ -n "$stopped" ]; then
			wait "$pid" || true
			return
		fi
		[ "$status" != 137 ] || killed=1
		[ -n "$killed" ] || return
		sleep 0.1
	done
}

# certificate makes a certificate that signs itself.
certificate() {
	"${as[@]}" openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ledger -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$dir/key.pem" -out "$dir/certificate.pem" >>"$dir/log" 2>&1
	"${as[@]}" chmod 600 "$dir/key.pem"
	export LEDGER_CERTIFICATE=$dir/certificate.pem
}

start_postgres() {
	local bin port
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
	if [ -z "$bin" ]; then
		unpack "$dir/postgres-programs" postgresql-15 libpq5 libxslt1.1 libicu72 libxml2 || return
		bin=$dir/postgres-programs/usr/lib/postgresql/15/bin
		export LD_LIBRARY_PATH=$(ls -d "$dir"/postgres-programs/usr/lib/*-linux-gnu):${LD_LIBRARY_PATH:-}
	fi
	port=$(free_port)
	"${as[@]}" openssl rand -out "$dir/password" -hex 16
	"${as[@]}" "$bin/initdb" -D "$dir/postgres" -U ledger -A scram-sha-256 --pwfile="$dir/password" -E UTF8 --no-sync >>"$dir/log" 2>&1 || return
	serve postgres "${as[@]}" "$bin/postgres" -D "$dir/postgres" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
		-c ssl=on -c ssl_cert_file="$dir/certificate.pem" -c ssl_key_file="$dir/key.pem" 2>>"$dir/log" &
	pids+=($!)
	wait_for_port "$port" $! || return
	export LEDGER_POSTGRES_PID=$dir/postgres.pid LEDGER_POSTGRES="postgres://ledger:$(cat "$dir/password")@127.0.0.1:$port/postgres?sslmode=disable"
}

start_mariadb() {
	local root port
	unpack "$dir/mariadb-programs" mariadb-server-core mariadb-client-core mariadb-common liburing2 libnuma1 libaio1 || return
	root=$dir/mariadb-programs
	export LD_LIBRARY_PATH=$(ls -d "$root"/usr/lib/*-linux-gnu):${LD_LIBRARY_PATH:-}
	port=$(free_port)
	local options=(--no-defaults --datadir="$dir/mariadb" --basedir="$root/usr" --lc-messages-dir="$root/usr/share/mysql" --plugin-dir="$root/usr/lib/mysql/plugin")
	"${as[@]}" mkdir "$dir/mariadb"
	{
		printf '%s\n' "CREATE DATABASE mysql;" "USE mysql;" # a statement on each line
		cat "$root"/usr/share/mysql/mysql_system_tables.sql "$root"/usr/share/mysql/mysql_performance_tables.sql "$root"/usr/share/mysql/mysql_system_tables_data.sql
	} | "${as[@]}" "$root/usr/sbin/mariadbd" "${options[@]}" --bootstrap --skip-networking >>"$dir/log" 2>&1 || return
	serve mariadb "${as[@]}" "$root/usr/sbin/mariadbd" "${options[@]}" --skip-grant-tables --skip-networking=0 --bind-address=127.0.0.1 --port="$port" \
		--socket="$dir/mariadb.sock" --ssl-cert="$dir/certificate.pem" --ssl-key="$dir/key.pem" 2>>"$dir/log" &
	pids+=($!)
	wait_for_port "$port" $! || return
	export LEDGER_MARIADB_PID=$dir/mariadb.pid LEDGER_MARIADB="mysql://root@127.0.0.1:$port/mysql"
}

command -v openssl >/dev/null || { echo "test/ledger: openssl is missing" >&2; exit 1; }
certificate
for server in postgres mariadb; do
	if ! start_$server; then
		{ tail -5 "$dir/log" "$dir/$server.log" 2>/dev/null || true; } >&2
		echo "SKIP: ledger: $server cannot be had" >&2
	fi
done
"$@"
