package qosaware

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// bindDuration is found beside the scheduler's own series at its /metrics.
var bindDuration = metrics.NewHistogramVec(
	&metrics.HistogramOpts{
		Subsystem:      "qosaware",
		Name:           "bind_duration_seconds",
		Help:           "Time from the beginning of a pod's binding to its end.",
		Buckets:        metrics.ExponentialBuckets(0.001, 2, 14),
		StabilityLevel: metrics.ALPHA,
	},
	[]string{"result"},
)

var registerMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(bindDuration) })

func observe(outcome result, took time.Duration) {
	bindDuration.WithLabelValues(string(outcome)).Observe(took.Seconds())
}
