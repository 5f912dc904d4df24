package cli

import (
	"context"
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
	"crawlnode/cli/command"
	"crawlnode/cli/seedlist"
	"crawlnode/cli/seedwatch"
	"crawlnode/config"
	"crawlnode/node"
	"crawlnode/workers/urlfrontier"
)

// session is the life of one node in this process: open, serve, feed, stop.
type session struct {
	env   *Env
	cfg   config.Config
	seeds []seedlist.Entry
	// onOpen is called once the node holds its directory and its ports.
	onOpen func(node.Info)
	// beside, when set, runs while the node does, and ends with its context.
	beside func(context.Context, *node.Node)
	// reload, when set, answers SIGHUP with the settings as they are now.
	reload func() (config.Config, error)
	// carried are the arguments that another node of this cluster is started with too.
	carried []string
	// given is node.Options.Given.
	given []string
	// adopt is node.Options.Adopt.
	adopt func(changed []string)
	// isOver, when set, says before the seeds are handed in that there is nothing left to
	// do, and tells people so.
	isOver func(context.Context) bool
	// resetFailures is node.Options.ResetFailures, and the same for seeds that have failed.
	resetFailures bool
	// bare is node.Options.Bare.
	bare bool
	// mustFinish makes a stop before the crawl's end an interruption.
	mustFinish bool

	node     *node.Node
	debug    net.Listener  // of --debug-addr; nil: none
	frontier net.Listener  // of --frontier-addr; nil: none
	leaving  chan struct{} // closed with the first signal that ends the node
	log      *slog.Logger
	level    *slog.LevelVar
	noSeeds  atomic.Bool // every seed was invalid, so the crawl never begins and never ends
	finished string      // why the crawl ended; "" when it has not
}

// run lives that life and returns the exit code.
func (s *session) run(ctx context.Context) int {
	s.log, s.level = newLogger(s.env, &s.cfg)
	for _, l := range [...]struct {
		flag, addr string
		to         *net.Listener
	}{{"debug-addr", s.cfg.DebugAddr, &s.debug}, {"frontier-addr", s.cfg.FrontierAddr, &s.frontier}} {
		if l.addr == "" {
			continue
		}
		listener, err := net.Listen("tcp", l.addr)
		if err != nil {
			return s.env.Fail(command.ExitUsage, "--%s: %v: give a free address of this machine", l.flag,
				err)
		}
		*l.to = listener
		defer func() { _ = listener.Close() }() // it was served until now, or never
	}
	s.leaving = make(chan struct{})
	stops, code := s.open()
	if s.node == nil {
		return code
	}
	s.onOpen(s.node.Info())
	if stops > 0 {
		close(s.leaving)
		s.node.Drain()
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.runAll(ctx) }()
	code, err := s.obeySignals(ended, stops)
	switch {
	case code != command.ExitOK:
		return code
	case err != nil:
		return s.env.Fail(exitCode(err), "%v", err)
	case s.noSeeds.Load():
		return command.ExitUsage
	case s.mustFinish && s.finished == "":
		return command.ExitInterrupted
	}
	return command.ExitOK
}

// uploaded is the exit code of a crawl that has ended, which is an error when the object store has
// not got all files.
func (s *session) uploaded(code int) int {
	if code != command.ExitOK || s.finished == "" || !s.cfg.ExitWhenDone {
		return code
	}
	if err := s.node.Unsent(); err != nil {
		return s.env.Fail(command.ExitError, "the crawl has ended, but %v", err)
	}
	return code
}

// runAll runs the node and everything around it, and returns when all of it has
// ended. What is around the node serves until the node has ended.
func (s *session) runAll(ctx context.Context) error {
	around, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	history := api.NewHistory(s.node)
	wg.Go(func() { history.Run(around) })
	wg.Go(func() {
		if err := api.Serve(around, s.node.HTTPListener(), s.handler(history)); err != nil {
			s.log.Error("the HTTP listener failed; /status does not answer any more", "error", err)
		}
	})
	if s.debug != nil {
		s.log.Info("profiles are served", "url", "http://"+s.debug.Addr().String()+"/debug/pprof/")
		wg.Go(func() {
			if err := api.Serve(around, s.debug, api.NewDebug(s.apiOptions())); err != nil {
				s.log.Error("the listener of --debug-addr failed", "error", err)
			}
		})
	}
	if s.frontier != nil {
		s.log.Info("the frontier is served by the URLFrontier protocol", "addr",
			s.frontier.Addr().String())
		wg.Go(func() {
			o := urlfrontier.Options{
				Access:   s.node.Access(),
				TLS:      s.node.APITLS(),
				Logger:   s.log,
				SetLevel: s.level.Set,
			}
			if err := urlfrontier.New(s.node, o).Serve(around, s.frontier); err != nil {
				s.log.Error("the listener of --frontier-addr failed", "error", err)
			}
		})
	}
	wg.Go(func() { s.feed(around) })
	if s.beside != nil {
		wg.Go(func() { s.beside(around, s.node) })
	}
	if n := newNotifier(s.env); n != nil {
		wg.Go(func() { n.run(around, s.node.Ready, s.leaving) })
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
func (s *session) handler(history *api.History) http.Handler {
	o := s.apiOptions()
	o.History = history
	return api.New(s.node, o)
}

func (s *session) apiOptions() api.Options {
	return api.Options{
		Access:  s.node.Access(),
		Hosts:   s.ownNames(),
		BotKeys: s.node.BotDirectory,
		Logger:  s.log,
	}
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

// obeySignals waits for the end and passes signals on. A code other than command.ExitOK
// stands for the node's own. Some stops may have been asked for already.
func (s *session) obeySignals(ended <-chan error, stops int) (int, error) {
	for {
		select {
		case err := <-ended:
			if stops > 1 {
				return command.ExitForced, err
			}
			return command.ExitOK, err
		case sig := <-s.env.Signals:
			if sig == syscall.SIGHUP {
				s.obeyReload()
				continue
			}
			stops++
			if !s.obeyStop(sig, stops) {
				return command.ExitForced, nil
			}
		}
	}
}

// obeyStop passes the n-th signal on; false means that waiting is over.
func (s *session) obeyStop(sig os.Signal, n int) bool {
	switch n {
	case 1:
		s.log.Info("stopping politely; a second signal stops at once", "signal", sig.String(), "at_most",
			s.cfg.DrainTimeout.String())
		close(s.leaving)
		s.node.Drain()
	case 2:
		s.log.Warn("stopping at once", "signal", sig.String())
		s.node.Stop()
	default:
		return false
	}
	return true
}

// isLeaving reports whether a signal has ended the session.
func (s *session) isLeaving() bool {
	select {
	case <-s.leaving:
		return true
	default:
		return false
	}
}

// obeyReload reads the settings again for SIGHUP, and the file of --secrets. Of the settings
// only the log level, the name of that file, and the node's weight and zone can change while a node
// runs; what else has changed is named. The goroutine of obeySignals alone writes to s.cfg.
func (s *session) obeyReload() {
	if s.reload == nil {
		return
	}
	cfg, err := s.reload()
	if err != nil {
		s.log.Error("the settings were not reloaded", "error", err)
		return
	}
	s.cfg.LogLevel = cfg.LogLevel
	s.level.Set(levelOf(cfg.LogLevel))
	s.cfg.Secrets = cfg.Secrets
	s.cfg.Weight, s.cfg.Zone = cfg.Weight, cfg.Zone
	if s.node != nil { // else open does it
		s.node.ReloadSecrets(cfg.Secrets)
		s.node.ReloadPlace(cfg.Weight, cfg.Zone)
	}
	if rest := config.Differences(&s.cfg, &cfg); len(rest) > 0 {
		s.log.Warn("settings reloaded; these have changed too and count only after a restart",
			"log_level", cfg.LogLevel, "settings", rest)
		return
	}
	s.log.Info("settings reloaded", "log_level", cfg.LogLevel)
}

// feed hands the seeds in as soon as the node takes part, and reports.
func (s *session) feed(ctx context.Context) {
	if len(s.seeds) == 0 {
		return
	}
	for ready, _ := s.node.Ready(); !ready; ready, _ = s.node.Ready() {
		if !command.Pause(ctx, 50*time.Millisecond) {
			return
		}
	}
	if s.isOver != nil && s.isOver(ctx) {
		return // the node ends by itself
	}
	if s.resetFailures && len(s.seeds) <= seedsKnown {
		s.seeds = seedwatch.Rerun(ctx, s.node, s.seeds)
	}
	report, ok := s.submit(ctx)
	if !ok {
		return
	}
	seedlist.Complain(s.env, s.seeds, report.Invalid)
	s.log.Info("seeds handed in", "accepted", report.Accepted, "duplicates", report.Duplicates,
		"out_of_scope", report.OutOfScope, "invalid", len(report.Invalid))
	if s.cfg.ExitWhenDone && report.OutOfScope > 0 {
		s.env.Fail(0, "seeds left out by --include or --exclude: %d; crawlnode scope test URL, "+
			"with --seed URL and the same flags, names the rule", report.OutOfScope)
	}
	if s.cfg.ExitWhenDone && report.Accepted+report.Duplicates == 0 {
		s.env.Fail(command.ExitUsage, "no seed can be crawled, so there is nothing to wait for")
		s.noSeeds.Store(true)
		s.node.Drain()
	}
}
