#!/usr/bin/env bash
# Sets up the closed loop in a kind cluster: fake nodes, VMs, Prometheus, the descheduler.
# Run it as often as you like: what is there already stays, what changed is applied.
#
#   ./setup-kind-env.sh [--no-vms]
#
#   --no-vms   leave out the VMs of k8s/example-vms.yaml
#
#   KIND_EXPERIMENTAL_PROVIDER=docker|podman   choose; otherwise Docker if it runs, then Podman
#   KIND_NODE_IMAGE=kindest/node:v1.36.1       another version of Kubernetes
#   TRIMTAB_WAIT=300s                          how long each part may take to become ready
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly CLUSTER=node-classifier-sim
readonly IMAGE=localhost/trimtab:0.1.0
readonly NODE_IMAGE=${KIND_NODE_IMAGE:-kindest/node:v1.36.1}
readonly WAIT=${TRIMTAB_WAIT:-300s}
vms=1
for option in "$@"; do
  case $option in
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --no-vms) vms=0 ;;
    *) echo "setup-kind-env: unknown option $option; see --help" >&2; exit 2 ;;
  esac
done

say() { printf '== %s\n' "$*"; }
fail() { printf 'setup-kind-env: %s\n' "$*" >&2; exit 2; }
# Never the current context: it may be somebody's real cluster.
kube() { kubectl --context "kind-$CLUSTER" "$@"; }

need_tools() {
  command -v kind >/dev/null || fail "kind is needed and was not found on PATH; see https://kind.sigs.k8s.io/docs/user/quick-start/#installation"
  command -v kubectl >/dev/null || fail "kubectl is needed and was not found on PATH; see https://kubernetes.io/docs/tasks/tools/"
  command -v jq >/dev/null || fail "jq is needed and was not found on PATH; see https://jqlang.org/download/"
  command -v openssl >/dev/null || fail "openssl is needed and was not found on PATH; your package manager has it"
}

works() { # docker or podman: installed, itself and not an alias of the other, and answering
  command -v "$1" >/dev/null || return 1
  [ "$1" = podman ] || ! "$1" --version 2>/dev/null | grep -qi podman || return 1
  "$1" info >/dev/null 2>&1
}

choose_engine() {
  case ${KIND_EXPERIMENTAL_PROVIDER:-} in
    docker | podman)
      engine=$KIND_EXPERIMENTAL_PROVIDER
      works "$engine" || fail "KIND_EXPERIMENTAL_PROVIDER is $engine, but \`$engine info\` does not answer; start it, or unset the variable" ;;
    "")
      if works docker; then engine=docker
      elif works podman; then engine=podman
      else fail "neither Docker nor Podman answers (\`docker info\`, \`podman info\`); start one of them, or use the lab, which needs none: make up"
      fi ;;
    *) fail "KIND_EXPERIMENTAL_PROVIDER is $KIND_EXPERIMENTAL_PROVIDER; this script knows docker and podman" ;;
  esac
  export KIND_EXPERIMENTAL_PROVIDER=$engine
}

ensure_cluster() {
  if kind get clusters 2>/dev/null | grep -qx "$CLUSTER"; then
    say "cluster $CLUSTER is there already"
    kind export kubeconfig --name "$CLUSTER" 2>/dev/null
    kube get --raw /readyz >/dev/null || fail "cluster $CLUSTER exists but does not answer; start its container with $engine, or: kind delete cluster --name $CLUSTER"
    return
  fi
  say "creating cluster $CLUSTER ($NODE_IMAGE)"
  kind create cluster --name "$CLUSTER" --image "$NODE_IMAGE" --wait "$WAIT" --config - <<YAML
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
  - role: control-plane
    extraPortMappings:
      - {containerPort: 30090, hostPort: 9090, listenAddress: 127.0.0.1}
      - {containerPort: 30800, hostPort: 8000, listenAddress: 127.0.0.1}
      - {containerPort: 30800, hostPort: 8001, listenAddress: 127.0.0.1}
      - {containerPort: 30843, hostPort: 8443, listenAddress: 127.0.0.1}
YAML
}

load_image() {
  say "building $IMAGE with $engine"
  "$engine" build --file Containerfile --tag "$IMAGE" .
  # An archive works with both; `kind load docker-image` asks Docker only.
  local archive
  archive=$(mktemp -d)/trimtab.tar
  "$engine" save --output "$archive" "$IMAGE"
  kind load image-archive "$archive" --name "$CLUSTER"
  rm -r "$(dirname "$archive")"
}

apply_manifests() {
  say "applying k8s/"
  kube apply --server-side --force-conflicts -f k8s/virtualmachine-crd.yaml
  kube wait --for=condition=Established --timeout="$WAIT" \
    crd/virtualmachines.trimtab.dev crd/virtualmachinemigrations.trimtab.dev
  kube apply --server-side --force-conflicts -k k8s/
  kube apply --server-side --force-conflicts -k k8s/overlays/kind
  k8s/make-secrets.sh --context "kind-$CLUSTER"
  # The image keeps its name when it is built anew.
  kube rollout restart -n default deployment/vm-controller deployment/eviction-webhook
  kube rollout restart -n monitoring deployment/metrics-exporter
  kube rollout restart -n kube-descheduler deployment/descheduler
}

await_everything() {
  say "waiting for everything (at most $WAIT each)"
  kube rollout status --timeout="$WAIT" -n kube-system deployment/kwok-controller
  kube wait --for=condition=Ready --timeout="$WAIT" nodes -l type=kwok
  kube rollout status --timeout="$WAIT" -n default deployment/vm-controller
  kube rollout status --timeout="$WAIT" -n default deployment/eviction-webhook
  kube rollout status --timeout="$WAIT" -n monitoring deployment/metrics-exporter
  kube rollout status --timeout="$WAIT" -n monitoring deployment/prometheus
  kube rollout status --timeout="$WAIT" -n kube-descheduler deployment/descheduler
}

apply_vms() {
  say "creating the VMs of k8s/example-vms.yaml"
  kube apply --server-side -f k8s/example-vms.yaml
  kube wait --for=jsonpath='{.status.nodeName}' --timeout="$WAIT" -f k8s/example-vms.yaml
}

need_tools
choose_engine
say "using $engine"
ensure_cluster
load_image
apply_manifests
await_everything
[ $vms = 0 ] || apply_vms
cat <<TEXT

Prometheus:           http://localhost:9090
Metrics exporter:     http://localhost:8000 (also 8001)
Descheduler metrics:  http://localhost:8443/metrics

kubectl config use-context kind-$CLUSTER
kubectl logs -n kube-descheduler deployment/descheduler -f
kubectl get vm -w
./test-closed-loop.sh
kind delete cluster --name $CLUSTER
TEXT
