#!/usr/bin/env bash
# Makes what the page's container reads on the host of a control plane, as root:
# /etc/kubernetes/trimtab-qos.conf (a kubeconfig of the service account trimtab-system/qos) and
# /etc/kubernetes/trimtab-qos/tls.crt and tls.key (the stamping webhook's certificate, for 127.0.0.1).
# Run it after `kubectl apply -k k8s/qos`, and again to renew; several hosts share one CA.
#
#   k8s/qos/make-host-files.sh [--directory DIR] [kubectl options...]
set -euo pipefail

case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
directory=/etc/kubernetes
if [ "${1:-}" = --directory ]; then directory=$2; shift 2; fi
for tool in kubectl openssl; do
  command -v "$tool" >/dev/null || { echo "make-host-files: $tool is needed and was not found on PATH" >&2; exit 2; }
done

readonly NAMESPACE=trimtab-system
kubectl=(kubectl "$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 077
mkdir -p "$directory/trimtab-qos"

fetch() { # secret, key, file
  "${kubectl[@]}" get secret -n "$NAMESPACE" "$1" --ignore-not-found -o "jsonpath={.data['${2/./\\.}']}" | base64 -d >"$3"
}

fetch qos-webhook-ca tls.crt "$work/ca.crt"
fetch qos-webhook-ca tls.key "$work/ca.key"
if [ ! -s "$work/ca.key" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj "/CN=trimtab qos webhook CA" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
  "${kubectl[@]}" create secret tls -n "$NAMESPACE" qos-webhook-ca --cert="$work/ca.crt" --key="$work/ca.key"
fi
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=trimtab qos webhook" \
  -keyout "$work/tls.key" -out "$work/tls.csr" 2>/dev/null
printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n' >"$work/ext"
openssl x509 -req -in "$work/tls.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 365 \
  -set_serial "0x$(openssl rand -hex 8)" -extfile "$work/ext" -out "$work/tls.crt" 2>/dev/null
mv "$work/tls.crt" "$work/tls.key" "$directory/trimtab-qos/"
"${kubectl[@]}" patch mutatingwebhookconfiguration trimtab-qos --type=json -p \
  "[{\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\"$(base64 <"$work/ca.crt" | tr -d '\n')\"}]"

"${kubectl[@]}" apply -f - <<SECRET
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: qos-token
  namespace: $NAMESPACE
  annotations: {kubernetes.io/service-account.name: qos}
SECRET
for _ in $(seq 50); do
  fetch qos-token token "$work/token"
  [ ! -s "$work/token" ] || break
  sleep 0.2
done
[ -s "$work/token" ] || { echo "make-host-files: no token was issued for $NAMESPACE/qos; does kube-controller-manager run?" >&2; exit 1; }
fetch qos-token ca.crt "$work/cluster-ca.crt"
server=$("${kubectl[@]}" config view --minify --raw -o 'jsonpath={.clusters[0].cluster.server}')
config=(kubectl config --kubeconfig="$work/kubeconfig")
"${config[@]}" set-cluster cluster --server="$server" --certificate-authority="$work/cluster-ca.crt" --embed-certs=true >/dev/null
"${config[@]}" set-credentials qos --token="$(cat "$work/token")" >/dev/null
"${config[@]}" set-context qos --cluster=cluster --user=qos >/dev/null
"${config[@]}" use-context qos >/dev/null
mv "$work/kubeconfig" "$directory/trimtab-qos.conf"
echo "written: $directory/trimtab-qos.conf, $directory/trimtab-qos/tls.crt, $directory/trimtab-qos/tls.key"
