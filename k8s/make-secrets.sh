#!/usr/bin/env bash
# Makes the secrets that no manifest can hold: the webhook's certificate and the exporter's token.
# What is there and valid for another 30 days stays. Run it again to renew; nothing restarts.
#
#   k8s/make-secrets.sh [kubectl options...]     e.g. --context kind-node-classifier-sim
set -euo pipefail

case "${1:-}" in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
for tool in kubectl openssl; do
  command -v "$tool" >/dev/null || { echo "make-secrets: $tool is needed and was not found on PATH" >&2; exit 2; }
done

readonly RENEW_S=$((30 * 24 * 3600))
kubectl=(kubectl "$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 077

fetch() { # namespace, secret, key of the secret, file
  "${kubectl[@]}" get secret -n "$1" "$2" --ignore-not-found -o "jsonpath={.data['${3/./\\.}']}" | base64 -d >"$4"
}

put() { # namespace, secret, options of `kubectl create secret`...
  local namespace=$1 name=$2 kind=$3
  shift 3
  "${kubectl[@]}" create secret "$kind" -n "$namespace" "$name" "$@" --dry-run=client -o yaml |
    "${kubectl[@]}" apply --server-side --force-conflicts --field-manager=make-secrets -f -
}

lasts() { # file: a certificate that need not be renewed yet
  [ -s "$1" ] && openssl x509 -in "$1" -noout -checkend "$RENEW_S" >/dev/null
}

make_ca() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj "/CN=trimtab eviction webhook CA" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
  put trimtab-system eviction-webhook-ca tls --cert="$work/ca.crt" --key="$work/ca.key"
}

make_certificate() {
  local host=eviction-webhook.default.svc
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$host" \
    -keyout "$work/tls.key" -out "$work/tls.csr" 2>/dev/null
  printf 'subjectAltName=DNS:%s,DNS:%s.cluster.local\nextendedKeyUsage=serverAuth\n' "$host" "$host" >"$work/ext"
  openssl x509 -req -in "$work/tls.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 365 \
    -set_serial "0x$(openssl rand -hex 8)" -extfile "$work/ext" -out "$work/tls.crt" 2>/dev/null
  put default eviction-webhook-tls tls --cert="$work/tls.crt" --key="$work/tls.key"
}

fetch trimtab-system eviction-webhook-ca tls.crt "$work/ca.crt"
fetch trimtab-system eviction-webhook-ca tls.key "$work/ca.key"
fetch default eviction-webhook-tls tls.crt "$work/tls.crt"
lasts "$work/ca.crt" && [ -s "$work/ca.key" ] || make_ca
if ! lasts "$work/tls.crt" || ! openssl verify -CAfile "$work/ca.crt" "$work/tls.crt" >/dev/null 2>&1; then
  make_certificate
fi
"${kubectl[@]}" patch validatingwebhookconfiguration trimtab-eviction --type=json -p \
  "[{\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\"$(base64 <"$work/ca.crt" | tr -d '\n')\"}]"

fetch monitoring metrics-exporter-token token "$work/token"
if [ ! -s "$work/token" ]; then
  openssl rand -hex 24 | tr -d '\n' >"$work/token"
  put monitoring metrics-exporter-token generic --from-file=token="$work/token"
fi
