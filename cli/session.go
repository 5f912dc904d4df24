package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"crawlnode/api"
	"crawlnode/config"
	"crawlnode/node"
)

// session is the life of one node in this process: open, serve, feed, stop.
type session struct {
	env   *Env
	cfg   config.Config
	seeds []seedInput
	// onOpen is called once the node holds its directory and its ports.
	onOpen func(node.Info)
	// beside, when set, runs while the node does, and ends with its context.
	beside func(context.Context, *node.Node)
	// reload, when set, answers SIGHUP with the log level to take.
	reload func(*Env) (string, error)
	// bare is node.Options.Bare.
	bare bool
	// mustFinish makes a stop before the crawl's end an interruption.
	mustFinish bool

	node     *node.Node
	log      *slog.Logger
	level    *slog.LevelVar
	noSeeds  atomic.Bool // every seed was invalid, so nothing will ever finish
	finished string      // why the crawl ended; "" when it has not
}

// run lives that life and returns the exit code.
func (s *session) run(ctx context.Context) int {
	s.log, s.level = newLogger(s.env, &s.cfg)
	n, err := node.Open(node.Options{Config: s.cfg, Logger: s.log, Version: s.env.Version, Bare: s.bare})
	if err != nil {
		return s.env.fail(exitCode(err), "%v", err)
	}
	s.node = n
	s.onOpen(n.Info())

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.runAll(ctx) }()
	code, err := s.obeySignals(ended)
	switch {
	case code != exitOK:
		return code
	case err != nil:
		return s.env.fail(exitCode(err), "%v", err)
	case s.noSeeds.Load():
		return exitUsage
	case s.mustFinish && s.finished == "":
		return exitInterrupted
	}
	return exitOK
}

// runAll runs the node and everything around it, and returns when all of it is
// over. What stands around the node serves until the node has ended.
func (s *session) runAll(ctx context.Context) error {
	around, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := api.Serve(around, s.node.HTTPListener(), s.handler()); err != nil {
			s.log.Error("the HTTP listener failed; /status does not answer any more", "error", err)
		}
	})
	wg.Go(func() { s.feed(around) })
	if s.beside != nil {
		wg.Go(func() { s.beside(around, s.node) })
	}
	err := s.node.Run(ctx)
	if reason, ok := s.node.Finished(); ok {
		s.finished = reason
	}
	cancel()
	wg.Wait()
	return err
}

// handler is the node's API.
func (s *session) handler() http.Handler {
	return api.New(s.node, api.Options{Token: s.node.APIToken(), Hosts: s.ownNames(), Logger: s.log})
}

// ownNames are the host names, beside addresses, that this node was given to
// be asked by.
func (s *session) ownNames() []string {
	var names []string
	for _, name := range []string{s.cfg.Advertise, hostOf(s.cfg.HTTP)} {
		if name != "" {
			names = append(names, strings.ToLower(name))
		}
	}
	return names
}

// hostOf is the host of host:port, or "".
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return host
}

// obeySignals waits for the end and passes signals on. A code other than exitOK
// stands for the node's own.
func (s *session) obeySignals(ended <-chan error) (int, error) {
	stops := 0
	for {
		select {
		case err := <-ended:
			if stops > 1 {
				return exitForced, err
			}
			return exitOK, err
		case sig := <-s.env.Signals:
			if sig == syscall.SIGHUP {
				s.obeyReload()
				continue
			}
			stops++
			if !s.obeyStop(sig, stops) {
				return exitForced, nil
			}
		}
	}
}

// obeyStop passes the n-th signal on; false means that waiting is over.
func (s *session) obeyStop(sig os.Signal, n int) bool {
	switch n {
	case 1:
		s.log.Info("stopping politely; a second signal stops at once", "signal", sig.String(), "at_most", s.cfg.DrainTimeout.String())
		s.node.Drain()
	case 2:
		s.log.Warn("stopping at once", "signal", sig.String())
		s.node.Stop()
	default:
		return false
	}
	return true
}

// obeyReload reads the settings again for SIGHUP.
func (s *session) obeyReload() {
	if s.reload == nil {
		return
	}
	name, err := s.reload(s.env)
	if err != nil {
		s.log.Error("the settings were not reloaded", "error", err)
		return
	}
	s.level.Set(levelOf(name))
	s.log.Info("settings reloaded: the log level was taken over, the others need a restart", "log_level", name)
}

// feed hands the seeds in as soon as the node takes part, and reports.
func (s *session) feed(ctx context.Context) {
	if len(s.seeds) == 0 {
		return
	}
	for ready, _ := s.node.Ready(); !ready; ready, _ = s.node.Ready() {
		if !pause(ctx, 50*time.Millisecond) {
			return
		}
	}
	report, ok := s.submit(ctx)
	if !ok {
		return
	}
	for _, bad := range report.Invalid {
		fmt.Fprintf(s.env.Stderr, "crawlnode: %s\n", complaint(s.seeds, bad))
	}
	s.log.Info("seeds handed in", "accepted", report.Accepted, "duplicates", report.Duplicates,
		"out_of_scope", report.OutOfScope, "invalid", len(report.Invalid))
	if s.cfg.ExitWhenDone && report.Accepted+report.Duplicates == 0 {
		s.env.fail(exitUsage, "no seed can be crawled, so there is nothing to wait for")
		s.noSeeds.Store(true)
		s.node.Drain()
	}
}

// pause waits, and returns false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
