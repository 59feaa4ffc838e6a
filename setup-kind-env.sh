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
#
# The API server's client certificate for webhooks is made in ~/.local/state/trimtab
# ($XDG_STATE_HOME) and has to stay there as long as the cluster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly CLUSTER=node-classifier-sim
readonly IMAGE=localhost/trimtab:0.1.0
readonly NODE_IMAGE=${KIND_NODE_IMAGE:-kindest/node:v1.36.1}
readonly WAIT=${TRIMTAB_WAIT:-300s}
readonly STATE=${XDG_STATE_HOME:-${HOME:?is not set}/.local/state}/trimtab/kind-$CLUSTER
readonly ADMISSION=/etc/kubernetes/webhooks # in the node and in the API server's pod
vms=1
for option in "$@"; do
  case $option in
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
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

make_client_certificate() { # by which the webhook knows the API server; docs/reference/webhooks.md
  say "making the API server's client certificate in $STATE"
  mkdir -p "$STATE"
  chmod 700 "$STATE"
  (
    umask 077
    cd "$STATE"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
      -subj "/CN=trimtab webhook client CA" -addext "keyUsage=critical,keyCertSign,cRLSign" \
      -keyout ca.key -out ca.crt 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
      -subj "/CN=kube-apiserver-webhook-client" -keyout client.key -out client.csr 2>/dev/null
    printf 'extendedKeyUsage=clientAuth\n' >client.ext
    openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -days 3650 -extfile client.ext \
      -set_serial "0x$(openssl rand -hex 8)" -out client.crt 2>/dev/null
    rm -f ca.key client.csr client.ext # nothing else is ever signed by this CA
    cat >webhook-credentials.yaml <<YAML
apiVersion: v1
kind: Config
users:
  - name: eviction-webhook.default.svc
    user: {client-certificate: $ADMISSION/client.crt, client-key: $ADMISSION/client.key}
YAML
    cat >admission.yaml <<YAML
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ValidatingAdmissionWebhook
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: WebhookAdmissionConfiguration
      kubeConfigFile: $ADMISSION/webhook-credentials.yaml
YAML
  )
}

ensure_cluster() {
  if kind get clusters 2>/dev/null | grep -qx "$CLUSTER"; then
    say "cluster $CLUSTER is there already"
    kind export kubeconfig --name "$CLUSTER" 2>/dev/null
    kube get --raw /readyz >/dev/null || fail "cluster $CLUSTER exists but does not answer; start its container with $engine, or: kind delete cluster --name $CLUSTER"
    return
  fi
  make_client_certificate
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
    extraMounts:
      - {hostPath: "$STATE", containerPath: $ADMISSION, readOnly: true, selinuxRelabel: true}
    kubeadmConfigPatches:
      - |
        kind: ClusterConfiguration
        apiServer:
          extraArgs:
            admission-control-config-file: $ADMISSION/admission.yaml
          extraVolumes:
            - {name: webhooks, hostPath: $ADMISSION, mountPath: $ADMISSION, readOnly: true, pathType: Directory}
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

trust_the_api_server_only() {
  local option=--client-ca=/client-ca/ca.crt arguments
  if ! kube get pods -n kube-system -l component=kube-apiserver -o json |
    jq -e 'any(.items[].spec.containers[].command[]; startswith("--admission-control-config-file="))' >/dev/null; then
    say "the webhook believes every caller: cluster $CLUSTER is older than the API server's client certificate; to change that: kind delete cluster --name $CLUSTER, then run this again"
    return
  fi
  [ -s "$STATE/ca.crt" ] || fail "$STATE/ca.crt is gone, and the API server's certificate with it; run: kind delete cluster --name $CLUSTER, then this again"
  kube create configmap -n default webhook-client-ca --from-file=ca.crt="$STATE/ca.crt" --dry-run=client -o yaml |
    kube apply --server-side --force-conflicts -f -
  arguments=$(kube get deployment -n default eviction-webhook -o json |
    jq -c --arg option "$option" '.spec.template.spec.containers[0].args - [$option] + [$option]')
  kube patch deployment -n default eviction-webhook --type=strategic -p "{\"spec\":{\"template\":{\"spec\":{
    \"containers\":[{\"name\":\"webhook\",\"args\":$arguments,
      \"volumeMounts\":[{\"name\":\"client-ca\",\"mountPath\":\"/client-ca\",\"readOnly\":true}]}],
    \"volumes\":[{\"name\":\"client-ca\",\"configMap\":{\"name\":\"webhook-client-ca\"}}]}}}}"
}

apply_manifests() {
  say "applying k8s/"
  kube apply --server-side --force-conflicts -f k8s/virtualmachine-crd.yaml
  kube wait --for=condition=Established --timeout="$WAIT" \
    crd/virtualmachines.trimtab.dev crd/virtualmachinemigrations.trimtab.dev
  kube apply --server-side --force-conflicts -k k8s/
  kube apply --server-side --force-conflicts -k k8s/overlays/kind
  k8s/make-secrets.sh --context "kind-$CLUSTER"
  trust_the_api_server_only
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
