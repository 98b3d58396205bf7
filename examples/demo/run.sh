#!/bin/sh
# Starts the server with the shipped rules, sends it three reviews over TLS as an API server would, prints question and answer, and
# keeps serving. ONCE=1 stops after the three.
#
#   examples/demo/run.sh USHER      USHER: the binary
set -eu

usher=$1
demo=$(dirname "$0")
certs=certs/dev
port=${PORT:-8443}
admin_port=${ADMIN_PORT:-8080}

command -v curl >/dev/null || { echo "examples/demo/run.sh: curl is not installed" >&2; exit 2; }
certs/dev.sh "$certs" >/dev/null

"$usher" serve --rules policies --tls-cert "$certs/tls.crt" --tls-key "$certs/tls.key" \
    --bind "127.0.0.1:$port" --admin-bind "127.0.0.1:$admin_port" \
    --log-format text --log-level "${USHER_LOG:-warn}" --drain-window 1s &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# Ready within 20 s, or the server has said why not.
tries=0
until curl --silent --fail --output /dev/null "http://127.0.0.1:$admin_port/readyz"; do
    kill -0 "$server" 2>/dev/null || { echo "the server ended before it was ready" >&2; exit 2; }
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { echo "the server is not ready after 20 s" >&2; exit 2; }
    sleep 0.1
done

ask() { # TITLE PATH REVIEW
    printf '\n%s\n  POST https://localhost:%s%s  %s\n' "$1" "$port" "$2" "$demo/$3"
    answer=$(curl --silent --show-error --fail --cacert "$certs/ca.crt" --header 'Content-Type: application/json' \
        --data-binary "@$demo/$3" "https://localhost:$port$2?timeout=5s")
    printf '%s\n' "$answer"
    patch=$(printf '%s' "$answer" | sed -n 's/.*"patch":"\([^"]*\)".*/\1/p')
    if [ -n "$patch" ]; then
        printf '  the patch: '
        printf '%s' "$patch" | base64 -d
        printf '\n'
    fi
}

ask 'alice creates Pod shop/web: allowed' /validate allowed.json
ask 'alice creates Pod shop/shell: denied, with every reason' /validate denied.json
ask 'alice creates Pod shop/plain: patched with the defaults' /mutate patched.json

if [ -n "${ONCE:-}" ]; then
    exit 0
fi
printf '\nServing on https://localhost:%s (metrics: http://localhost:%s/metrics). Edit a file below policies/ and ask again; end with Ctrl-C.\n' "$port" "$admin_port"
wait "$server"
