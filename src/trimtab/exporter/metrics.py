"""What the exporter says about itself, on the same page as the nodes."""

from trimtab.obs.metrics import counter, gauge, histogram

requests = counter(
    "trimtab_exporter_requests_total", "Answers of the exporter", "path", "method", "code"
)
render_seconds = histogram(
    "trimtab_exporter_render_seconds",
    "Time to write the page of metrics",
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5),
)
unreadable = gauge(
    "trimtab_exporter_unreadable_pods", "Pods whose use cannot be read; they count as idle VMs"
)
left_out = gauge(
    "trimtab_exporter_left_out_nodes", "Nodes without metrics: not Ready, or without capacity"
)
