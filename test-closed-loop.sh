#!/usr/bin/env bash
# Checks the closed loop link by link: nodes, VMs, metrics, rules, scores, evictions, migrations.
# Ends with 0 if every link holds, with 1 if one does not: that line says what to look at.
#
#   ./test-closed-loop.sh [--wait SECONDS]
#
#   --wait SECONDS   how long samples, cycles and migrations may take to appear (default 240)
#
#   KUBE_CONTEXT     default kind-node-classifier-sim
#   PROMETHEUS_URL   default http://localhost:9090
#   EXPORTER_URL     default http://localhost:8000
#   DESCHEDULER_URL  default http://localhost:8443
#
# For a lab: trimtab lab test
set -uo pipefail

readonly CONTEXT=${KUBE_CONTEXT:-kind-node-classifier-sim}
readonly PROMETHEUS=${PROMETHEUS_URL:-http://localhost:9090}
readonly EXPORTER=${EXPORTER_URL:-http://localhost:8000}
readonly DESCHEDULER=${DESCHEDULER_URL:-http://localhost:8443}
readonly QUERY=descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m
wait_s=240
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --wait)
      case ${2:-} in "" | *[!0-9]*) echo "test-closed-loop: --wait needs a number of seconds" >&2; exit 2 ;; esac
      wait_s=$2; shift 2 ;;
    *) echo "test-closed-loop: unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
for tool in kubectl jq curl; do
  command -v "$tool" >/dev/null || { echo "test-closed-loop: $tool is needed and was not found on PATH" >&2; exit 2; }
done

passed=0 failed=0
deadline=$((SECONDS + wait_s))

kube() { kubectl --context "$CONTEXT" "$@"; }
get() { curl --fail --silent --show-error --max-time 10 "$@"; }

check() { # link, what to look at, command...
  local link=$1 advice=$2
  shift 2
  if "$@" >/dev/null 2>&1; then passed=$((passed + 1)); printf 'ok    %s\n' "$link"
  else failed=$((failed + 1)); printf 'FAIL  %s\n      look at: %s\n' "$link" "$advice"
  fi
}

in_time() { # command...: until it succeeds, or the time is over
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 2
  done
}

deployed() { # namespace, deployment
  kube get deployment -n "$1" "$2" -o json | jq -e '.status.readyReplicas > 0'
}
nodes() { kube get nodes -l kubevirt.io/schedulable=true -o json; }
nodes_ready() {
  nodes | jq -e '.items | length > 0 and all(.status.conditions[] | select(.type == "Ready") | .status == "True")'
}
vms_running() { kube get vm -A -o json | jq -e '.items | length > 0 and all(.status.nodeName // "" | . != "")'; }
exporter_on_pods() { get "$EXPORTER/health" | jq -e '.status == "healthy" and .pod_manager_enabled == true'; }
exporter_metrics() { get "$EXPORTER/metrics" | grep -q '^node_cpu_usage_ratio{'; }
target_up() {
  get "$PROMETHEUS/api/v1/targets" |
    jq -e '[.data.activeTargets[] | select(.labels.job == "exporter") | .health] | length > 0 and all(. == "up")'
}
rules_loaded() {
  get "$PROMETHEUS/api/v1/rules" |
    jq -e --arg name "$QUERY" '[.data.groups[].rules[]] | any(.name == $name) and all(.health != "err")'
}
samples() { get -G --data-urlencode "query=$1" "$PROMETHEUS/api/v1/query" | jq "$2"; }
sample_for_each_node() {
  local count
  count=$(nodes | jq '.items | length') && [ "$count" -gt 0 ] || return 1
  [ "$(samples "$QUERY" '.data.result | length')" = "$count" ]
}
descheduler_cycles() { kube logs -n kube-descheduler deployment/descheduler -c descheduler --tail=2000 | grep -q 'Number of evictions/requests'; }
descheduler_metrics() { get "$DESCHEDULER/metrics" | grep -q '^descheduler_'; }
webhook_trusted() {
  kube get validatingwebhookconfiguration trimtab-eviction -o json | jq -e '.webhooks[0].clientConfig.caBundle // "" | . != ""'
}
evicted() { get "$DESCHEDULER/metrics" | grep -Eq '^descheduler_pods_evicted_total\{.*result="(background|success)".*\} [1-9]'; }
migrated() { kube get vmm -A -o json | jq -e '[.items[] | select(.status.phase == "Succeeded")] | length > 0'; }

check "the API server answers" "kubectl --context $CONTEXT cluster-info" kube get --raw /readyz
check "fake nodes are Ready" "kubectl get nodes -l kubevirt.io/schedulable=true; kubectl logs -n kube-system deployment/kwok-controller" in_time nodes_ready
check "VM controller runs" "kubectl get pods -l app=vm-controller" in_time deployed default vm-controller
check "eviction webhook runs" "kubectl get pods -l app=eviction-webhook" in_time deployed default eviction-webhook
check "metrics exporter runs" "kubectl get pods -n monitoring -l app=metrics-exporter" in_time deployed monitoring metrics-exporter
check "Prometheus runs" "kubectl get pods -n monitoring -l app=prometheus" in_time deployed monitoring prometheus
check "descheduler runs" "kubectl get pods -n kube-descheduler" in_time deployed kube-descheduler descheduler
check "the API server trusts the webhook" "k8s/make-secrets.sh --context $CONTEXT" webhook_trusted
check "every VM has a node" "kubectl get vm -A; kubectl logs -l app=vm-controller" in_time vms_running
check "the exporter reads pods" "curl $EXPORTER/health; kubectl logs -n monitoring -l app=metrics-exporter" in_time exporter_on_pods
check "the exporter has node metrics" "curl $EXPORTER/metrics" in_time exporter_metrics
check "Prometheus is healthy" "curl $PROMETHEUS/-/healthy" in_time get "$PROMETHEUS/-/healthy"
check "Prometheus scrapes the exporter" "$PROMETHEUS/targets" in_time target_up
check "the rules are loaded and work" "$PROMETHEUS/rules" in_time rules_loaded
check "every node has a score" "$PROMETHEUS/graph with $QUERY" in_time sample_for_each_node
check "the descheduler runs cycles" "kubectl logs -n kube-descheduler deployment/descheduler" in_time descheduler_cycles
check "the descheduler serves metrics" "curl $DESCHEDULER/metrics" in_time descheduler_metrics
check "the descheduler has evicted" "kubectl logs -n kube-descheduler deployment/descheduler | grep -i evict; a balanced cluster needs none" in_time evicted
check "an eviction became a migration" "kubectl get vmm -A; kubectl logs -l app=eviction-webhook; kubectl logs -l app=vm-controller" in_time migrated

printf '\n%d links hold, %d do not\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
