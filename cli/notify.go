package cli

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"
)

// notifier tells a service manager the state of the node, by the protocol of
// sd_notify(3): datagrams with lines of text. A lost datagram does no harm.
type notifier struct {
	socket   string
	watchdog time.Duration // the manager expects a datagram this often; 0: never
}

// newNotifier returns nil when no service manager asked for notifications.
func newNotifier(env *Env) *notifier {
	socket, _ := env.Lookup("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	n := &notifier{socket: socket}
	pid, _ := env.Lookup("WATCHDOG_PID")
	every, _ := env.Lookup("WATCHDOG_USEC")
	if usec, err := strconv.ParseInt(every, 10, 64); err == nil && usec > 0 &&
		(pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	return n
}

// readyLook is how often readiness is looked at. It is asked for in process.
const readyLook = 100 * time.Millisecond

// run says READY=1 when /readyz would, STOPPING=1 when leaving is closed or ctx
// ends, and answers the watchdog as long as the node can say whether it is ready.
func (n *notifier) run(
	ctx context.Context,
	readiness func() (bool, string),
	leaving <-chan struct{},
) {
	told := false
	for lastAlive := (time.Time{}); ; {
		if ready, _ := readiness(); ready && !told {
			n.tell("READY=1")
			told = true
		}
		if n.watchdog > 0 && time.Since(lastAlive) >= n.watchdog/3 {
			n.tell("WATCHDOG=1")
			lastAlive = time.Now()
		}
		t := time.NewTimer(n.look())
		select {
		case <-t.C:
		case <-leaving:
			n.tell("STOPPING=1")
			told, leaving = true, nil // the watchdog goes on
		case <-ctx.Done():
			t.Stop()
			if leaving != nil {
				n.tell("STOPPING=1")
			}
			return
		}
		t.Stop()
	}
}

// look is the time between two looks.
func (n *notifier) look() time.Duration {
	if n.watchdog > 0 {
		return min(readyLook, n.watchdog/3)
	}
	return readyLook
}

// tell sends one datagram.
func (n *notifier) tell(lines string) {
	// @ stands for the abstract ones
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(lines)) // there is no one to report the error to
}
