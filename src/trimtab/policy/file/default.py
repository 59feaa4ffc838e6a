"""The policy that trimtab runs unless told otherwise.

Deviation thresholds 0 : 10 around the mean of the k3 score; 5 evictions in all, 2 a node.
"""

DEFAULT_QUERY = "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m"

# The same as examples/policies/default.yaml, which says why; a test compares them.
DEFAULT_POLICY = f"""\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: kubevirt.io/schedulable=true
maxNoOfPodsToEvictTotal: 5
maxNoOfPodsToEvictPerNode: 2
metricsProviders:
  - source: Prometheus
    prometheus:
      url: http://prometheus.monitoring.svc:9090
      authToken:
        secretReference:
          namespace: kube-descheduler
          name: prometheus-token
profiles:
  - name: trimtab
    pluginConfig:
      - name: LowNodeUtilization
        args:
          useDeviationThresholds: true
          thresholds:
            MetricResource: 0
          targetThresholds:
            MetricResource: 10
          metricsUtilization:
            source: Prometheus
            prometheus:
              query: {DEFAULT_QUERY}
          evictionLimits:
            node: 2
      - name: DefaultEvictor
        args:
          podProtections:
            defaultDisabled:
              - PodsWithLocalStorage
    plugins:
      balance:
        enabled:
          - LowNodeUtilization
"""
