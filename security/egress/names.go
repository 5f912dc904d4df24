package egress

import (
	"log/slog"
	"time"

	"crawlnode/dnscache"
)

// NameEvents logs what happens to the name servers. resolved is told how long an answer took.
func NameEvents(log *slog.Logger, resolved func(took time.Duration)) dnscache.Events {
	return dnscache.Events{
		Outage:   func(since time.Time, err error) { logOutage(log, since, err) },
		Limited:  func(server string, places int, small bool) { logLimit(log, server, places, small) },
		Resolved: resolved,
	}
}

// logOutage logs when an outage of the name servers begins and ends.
func logOutage(log *slog.Logger, since time.Time, err error) {
	if since.IsZero() {
		log.Info("a name server answers again")
		return
	}
	log.Warn("no name server answers; hosts whose addresses are not known wait: look at --dns, "+
		"or at the system's name servers", "error", err)
}

// logLimit logs when a name server limits how much it answers, and when no more.
func logLimit(log *slog.Logger, server string, places int, small bool) {
	if !small {
		log.Info("a name server answers as much as before", "server", server, "queries_at_a_time", places)
		return
	}
	log.Warn("a name server limits how much it answers and is asked less; "+
		"new hosts come in more slowly: a resolver of your own, "+
		"or another one beside it (--dns), helps", "server", server, "queries_at_a_time", places)
}
