package cli

import (
	"slices"
	"syscall"
	"time"

	"crawlnode/cli/command"
	"crawlnode/node"
)

// openGrace is how long, after a signal, a node that is being opened may take until it
// can be closed.
const openGrace = 2 * time.Second

// open opens the node of the session. Reading the data back may take long, and a disk
// may not answer at all. A signal ends the wait and the process. Nothing was
// acknowledged yet, so that is as safe as a kill. It returns how many stops were asked
// for in that time and, when there is no node, the exit code.
func (s *session) open() (stops, code int) {
	type opened struct {
		n   *node.Node
		err error
	}
	done := make(chan opened, 1)
	// A copy: SIGHUP changes s.cfg.
	options := node.Options{Config: s.cfg, Logger: s.log, Version: s.env.Version, Given: s.given,
		FollowFetchers: !slices.Contains(s.given, "fetchers"), Adopt: s.adopt,
		ResetFailures: s.resetFailures, Bare: s.bare}
	go func() { // ends with the process, if that does not wait for it
		n, err := node.Open(options)
		done <- opened{n, err}
	}()
	var limit <-chan time.Time
	reloaded := false
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return stops, s.env.Fail(exitCode(o.err), "%v", o.err)
			}
			s.node = o.n
			if reloaded { // it may have read the secrets before
				s.node.ReloadSecrets(s.cfg.Secrets)
				s.node.ReloadPlace(s.cfg.Weight, s.cfg.Zone)
			}
			return stops, command.ExitOK
		case <-limit:
			return stops, s.notOpened()
		case sig := <-s.env.Signals:
			if sig == syscall.SIGHUP {
				s.obeyReload()
				reloaded = true
				continue
			}
			if stops++; stops > 1 {
				return stops, command.ExitForced
			}
			s.log.Info("stopping, while the data are being opened; a second signal stops at once", "signal",
				sig.String())
			limit = time.After(openGrace)
		}
	}
}

// notOpened is the exit code of a node that was stopped before it was open.
func (s *session) notOpened() int {
	if s.mustFinish {
		return command.ExitInterrupted
	}
	return command.ExitOK
}
