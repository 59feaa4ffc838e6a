"""The service's own counters; what accounts show is collected when somebody asks (`series`)."""

from trimtab.obs.metrics import counter, gauge, histogram

restamps = counter("qosaware_restamps_total", "Stamps written after a pod was created")
stamped = counter("qosaware_stamps_total", "Stamps given to pods at their creation")
unstamped = counter(
    "qosaware_unstamped_pods_total", "Pods that came without a stamp: scheduled by age until then"
)
rebuild_seconds = gauge("qosaware_ledger_rebuild_seconds", "What the last rebuild took")
checkpoint_errors = counter("qosaware_checkpoint_errors_total", "Checkpoints not written")
watch_gaps = counter("qosaware_watch_gap_total", "Times when the watch could not be continued")
lost_pods = counter("qosaware_lost_pods_total", "Pods of which nobody knows when they ended")
skew_seconds = gauge(
    "qosaware_clock_skew_seconds", "The API server's clock minus ours; 0 if not certain"
)
skew_bound = gauge("qosaware_clock_skew_bound_seconds", "How far off it can be at most")
above_limits = counter(
    "qosaware_promises_above_limits_total",
    "Pods whose promise was above a ceiling or the budget: warned of, or refused",
    "answer",
)
violations = counter("qosaware_slo_violations_total", "Accounts that fell below their SLO", "class")
pod_wait = histogram(
    "qosaware_pod_wait_seconds",
    "From a pod's creation to its binding, or to its end without one",
    "outcome",
    buckets=(0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0),
)
bindings_live = gauge("qosaware_bindings_live", "1 while the scheduler tells its bindings")
bindings_missed = counter("qosaware_bindings_missed_total", "Bindings that were overwritten unread")
