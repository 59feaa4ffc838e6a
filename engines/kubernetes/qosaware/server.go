package qosaware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Every profile makes an instance of the plugin; the first one opens the port for all.
var (
	servingMu sync.Mutex
	serving   = map[string]bool{}
)

// serve answers GET /bindings at the address until the context ends. A taken port is an error:
// the scheduler says so and ends, rather than leave its readers without data.
func serve(ctx context.Context, address string, recent *bindings) error {
	servingMu.Lock()
	defer servingMu.Unlock()
	if address == "" || serving[address] {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("pluginConfig of %s: bindingsAddress: %w", Name, err)
	}
	serving[address] = true
	server := &http.Server{
		Handler:           handler(recent),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	go run(ctx, server, listener, address)
	go func() {
		<-ctx.Done()
		_ = server.Close() // its error is that of the listener, which `run` reports
	}()
	return nil
}

func run(ctx context.Context, server *http.Server, listener net.Listener, address string) {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		klog.FromContext(ctx).Error(err, "Recent bindings can no longer be read", "address", address)
	}
	servingMu.Lock()
	defer servingMu.Unlock()
	delete(serving, address)
}

func handler(recent *bindings) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bindings", func(w http.ResponseWriter, r *http.Request) {
		var from uint64
		if text := r.URL.Query().Get("since"); text != "" {
			number, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				http.Error(w, "since: want the number that \"next\" gave, got "+strconv.Quote(text),
					http.StatusBadRequest)
				return
			}
			from = number
		}
		body, err := json.Marshal(recent.since(from))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(body) // the reader has gone: nobody is left to tell
	})
	return mux
}
