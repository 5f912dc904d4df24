package cli

import (
	"syscall"
	"time"

	"crawlnode/node"
)

// openGrace is how long a node that is being opened may take to come so far that it
// can be closed, after a signal.
const openGrace = 2 * time.Second

// open opens the node of the session: reading back what is on disk may take long, and a
// disk may not answer at all. A signal ends the wait, and with it the process: nothing
// was acknowledged yet, so it is as safe as a kill. It returns how many stops were asked
// for meanwhile and, when there is no node, the exit code.
func (s *session) open() (stops, code int) {
	type opened struct {
		n   *node.Node
		err error
	}
	done := make(chan opened, 1)
	go func() { // ends with the process, if that does not wait for it
		n, err := node.Open(node.Options{Config: s.cfg, Logger: s.log, Version: s.env.Version, Given: s.given, Bare: s.bare})
		done <- opened{n, err}
	}()
	var limit <-chan time.Time
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return stops, s.env.fail(exitCode(o.err), "%v", o.err)
			}
			s.node = o.n
			return stops, exitOK
		case <-limit:
			return stops, s.notOpened()
		case sig := <-s.env.Signals:
			if sig == syscall.SIGHUP {
				s.obeyReload()
				continue
			}
			if stops++; stops > 1 {
				return stops, exitForced
			}
			s.log.Info("stopping, while the data are being opened; a second signal stops at once", "signal", sig.String())
			limit = time.After(openGrace)
		}
	}
}

// notOpened is the exit code of a node that was stopped before it was open.
func (s *session) notOpened() int {
	if s.mustFinish {
		return exitInterrupted
	}
	return exitOK
}

// await does what may take for ever and knows no context, such as reading what a person
// types. False: a signal came first, or whatever else stop tells; then the process is
// to end, and with it what was begun.
func await[T any](stop <-chan T, do func()) bool {
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
		return true
	case <-stop:
		return false
	}
}
