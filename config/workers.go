package config

import (
	"fmt"
	"time"
)

// Workers has the settings about programs outside of the cluster that fetch pages.
type Workers struct {
	// Fetch is on or off. off: this node fetches robots.txt and sitemap files, and leaves pages to
	// workers.
	Fetch string `group:"node" placeholder:"on|off" default:"on" help:"off: this node keeps its part of the frontier and serves workers, and fetches no page itself; robots.txt and sitemaps it does, so that both are obeyed." live:"start"`
	// Lease is how long a worker may take for the URLs that it gets at a time.
	Lease time.Duration `group:"node" placeholder:"DURATION" default:"5m" help:"Time that a worker has for the URLs that it gets at a time; then they are queued again." live:"start"`
	// FrontierAddr is host:port of the URLFrontier service. Empty: none.
	FrontierAddr string `name:"frontier-addr" group:"node" placeholder:"ADDR" help:"Serve the frontier by the URLFrontier protocol (gRPC) at this address, as host:port (default: off)." live:"start"`
}

// maxLease bounds a lease: a host that waits for longer than an hour counts as one that is not
// coming back.
const maxLease = 30 * time.Minute

func (w *Workers) validateWorkers() error {
	if w.Lease < time.Second || w.Lease > maxLease {
		return fmt.Errorf("--lease: %v must be from 1s to %v", w.Lease, maxLease)
	}
	return nil
}
