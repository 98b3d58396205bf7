#!/bin/sh
# Makes a development authority and a server certificate signed by it, or keeps those that are still good.
#
#   certs/dev.sh [DIRECTORY]        default: dev, beside this script
#
# ca.crt, ca.key    the authority; ca.crt is what clients trust
# tls.crt, tls.key  the server's certificate for localhost and usher.usher-system.svc, and its key
set -eu

directory=${1:-$(dirname "$0")/dev}
authority_days=365
server_days=30
# Renewed when less than this is left, so that a long session does not see it expire.
seconds_left=86400

umask 077
command -v openssl >/dev/null || { echo "certs/dev.sh: openssl is not installed" >&2; exit 2; }
mkdir -p "$directory"
cd "$directory"

# Written in a directory of its own and moved at the end: a script that is stopped leaves no half of a pair.
work=$(mktemp -d ./.new.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Whether the certificate $1 is good for a while, and the key $2 belongs to it.
good() {
    [ -s "$1" ] && [ -s "$2" ] &&
        openssl x509 -in "$1" -noout -checkend "$seconds_left" >/dev/null 2>&1 &&
        [ "$(openssl x509 -in "$1" -noout -pubkey 2>/dev/null)" = "$(openssl pkey -in "$2" -pubout 2>/dev/null)" ]
}

new_key() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null
}

if ! good ca.crt ca.key; then
    cat >"$work/ca.cnf" <<'EOF'
[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
CN = usher development authority
[extensions]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
EOF
    new_key "$work/ca.key"
    openssl req -x509 -new -config "$work/ca.cnf" -key "$work/ca.key" -sha256 -days "$authority_days" -out "$work/ca.crt"
    mv "$work/ca.key" "$work/ca.crt" .
    # What the old authority signed is worth nothing now.
    rm -f tls.crt tls.key
fi

if good tls.crt tls.key && openssl verify -CAfile ca.crt tls.crt >/dev/null 2>&1; then
    echo "$directory: the certificates are still good" >&2
else
    cat >"$work/tls.cnf" <<'EOF'
[req]
prompt = no
distinguished_name = name
[name]
CN = usher.usher-system.svc
[extensions]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost, DNS:usher, DNS:usher.usher-system, DNS:usher.usher-system.svc, DNS:usher.usher-system.svc.cluster.local, IP:127.0.0.1, IP:::1
EOF
    new_key "$work/tls.key"
    openssl req -new -config "$work/tls.cnf" -key "$work/tls.key" -out "$work/tls.csr"
    openssl x509 -req -in "$work/tls.csr" -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" \
        -sha256 -days "$server_days" -extfile "$work/tls.cnf" -extensions extensions -out "$work/tls.crt" 2>/dev/null
    mv "$work/tls.key" "$work/tls.crt" .
    echo "$directory: made a server certificate for $server_days days" >&2
fi
chmod 600 ca.crt ca.key tls.crt tls.key
