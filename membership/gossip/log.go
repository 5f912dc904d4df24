package gossip

import (
	"log"
	"log/slog"
	"net"
	"strings"

	"crawlnode/security/door"
)

// bridge makes a logger for memberlist out of ours.
func bridge(to *slog.Logger) *log.Logger {
	return log.New(logWriter{to, door.NewLog(to.With("from", "gossip"))}, "", 0)
}

type logWriter struct {
	to       *slog.Logger
	warnings *door.Log // strangers can provoke them
}

// Write takes one line of memberlist's. It lowers the level by one: an error of
// memberlist's is another node's problem. Three things are logged once elsewhere and
// become debug lines here: refused nodes, two addresses of one id, and this node's own
// end, when its sockets close while memberlist still sends.
func (w logWriter) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	told := strings.Contains(text, ErrMismatch.Error()) ||
		strings.Contains(text, "Conflicting address for ") ||
		strings.Contains(text, net.ErrClosed.Error())
	if rest, ok := strings.CutPrefix(text, "[ERR] memberlist: "); ok && !told {
		w.warnings.Warn(rest)
		return len(line), nil
	}
	w.to.Debug(text, "from", "gossip")
	return len(line), nil
}
