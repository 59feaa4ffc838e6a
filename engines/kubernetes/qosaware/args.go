package qosaware

import (
	"fmt"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Args are the plugin's arguments, given in the profile's pluginConfig. All may be left out.
type Args struct {
	// RespectPriority compares the pods' priorities before their stamps.
	RespectPriority *bool `json:"respectPriority"`
	// MaxFailurePenaltySeconds limits what failed attempts add to a deadline; 0 adds nothing.
	MaxFailurePenaltySeconds *int64 `json:"maxFailurePenaltySeconds"`
	// PodsTriedFirst is how many waiting pods are called out of their back-off when there is more
	// room than before; 0 leaves the order to their back-off.
	PodsTriedFirst *int `json:"podsTriedFirst"`
	// BindingsAddress is where recent bindings are told, on the loopback; "" tells nobody.
	BindingsAddress *string `json:"bindingsAddress"`
}

type settings struct {
	respectPriority bool
	penaltyLimit    uint64
	triedFirst      int
	bindingsAddress string
}

const (
	longestPenaltySeconds = 3600
	mostTriedFirst        = 10_000
)

// defaults add no penalty: it would put whoever waits for room behind those who have just come.
func defaults() settings {
	return settings{respectPriority: true, triedFirst: 64, bindingsAddress: "127.0.0.1:10001"}
}

// readArgs decodes strictly: a misspelt argument is an error, not a default.
func readArgs(given runtime.Object) (settings, error) {
	chosen := defaults()
	if given == nil {
		return chosen, nil
	}
	raw, ok := given.(*runtime.Unknown)
	if !ok {
		return chosen, fmt.Errorf("pluginConfig of %s: want plain arguments, got %T", Name, given)
	}
	var args Args
	if err := yaml.UnmarshalStrict(raw.Raw, &args); err != nil {
		return chosen, fmt.Errorf("pluginConfig of %s: %w", Name, err)
	}
	return chosen.with(args)
}

func (s settings) with(args Args) (settings, error) {
	if args.RespectPriority != nil {
		s.respectPriority = *args.RespectPriority
	}
	if args.MaxFailurePenaltySeconds != nil {
		limit := *args.MaxFailurePenaltySeconds
		if limit < 0 || limit > longestPenaltySeconds {
			return s, fmt.Errorf("pluginConfig of %s: maxFailurePenaltySeconds is %d; use 0 to %d",
				Name, limit, longestPenaltySeconds)
		}
		s.penaltyLimit = uint64(limit)
	}
	if args.PodsTriedFirst != nil {
		if s.triedFirst = *args.PodsTriedFirst; s.triedFirst < 0 || s.triedFirst > mostTriedFirst {
			return s, fmt.Errorf("pluginConfig of %s: podsTriedFirst is %d; use 0 to %d",
				Name, s.triedFirst, mostTriedFirst)
		}
	}
	if args.BindingsAddress != nil {
		s.bindingsAddress = *args.BindingsAddress
	}
	return s, checkAddress(s.bindingsAddress)
}

// checkAddress refuses what others could reach: who runs where is nobody else's business, and
// the port has no authentication.
func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("pluginConfig of %s: bindingsAddress: %w", Name, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("pluginConfig of %s: bindingsAddress %q is not on the loopback; use 127.0.0.1:PORT",
			Name, address)
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return fmt.Errorf("pluginConfig of %s: bindingsAddress %q: the port must be 1 to 65535", Name, address)
	}
	return nil
}
