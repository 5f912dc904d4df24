package dnscache

import "time"

// A server's answers to the names of a crawl say little about the server: some names are
// always broken, slow or without servers of their own, and a site that links to many of
// those must not slow the look-ups of others. So a refusal, a late answer, or no answer
// while other queries are answered is only a suspicion. It is verified by a probe: a query
// for the root servers, which every resolver has in memory. Only a refusal of the probe,
// or a late or missing answer to it, counts against the server.
const (
	// lateAnswer is after how long an answer is a suspicion.
	lateAnswer = 500 * time.Millisecond
	// A probe is late after so long, if it also took lateTimes as long as the quickest one.
	lateProbe = 300 * time.Millisecond
	lateTimes = 8
	// probeTimeout bounds a probe, or the time-out of a query if that is less.
	probeTimeout = time.Second
	// probeEvery is the least time between two probes of a server. A limit per second is
	// visible during a part of the second only.
	probeEvery = 100 * time.Millisecond
	// After a missing answer the probe is sent a part of a second later, each time another
	// part, and less often: queries that were dropped together time out together, when a
	// limit per second has just begun anew.
	silenceProbeEvery = time.Second
	// limitedFor is how long after a failed probe an unanswered query counts as caught by
	// the limit, even if later probes succeed.
	limitedFor = 10 * time.Second
	// learnEvery is how often a server that answers is probed until it has answered a
	// probe, which is usually the first one.
	learnEvery = time.Minute
	// After a failed probe no query is sent to the server: for the first value, doubled by
	// each further failure in a row, up to the last.
	firstPause = 500 * time.Millisecond
	maxPause   = 4 * time.Second
)

// window bounds the queries under way to one server. It begins with the largest size, is
// halved by each failed probe, and grows by one after as many answers as it is large:
// additive increase, multiplicative decrease. It is pure: time is an argument.
type window struct {
	most  int
	size  float64 // 1 to most
	open  int     // queries under way
	heard time.Time

	// answer to a probe; 0: the server never answered one, so they prove nothing
	quickest time.Duration
	learnAt  time.Time // when the next probe is sent without a suspicion, while quickest is 0
	fails    int       // probes in a row
	probeAt  time.Time // no probe before
	probedAt time.Time // when the last ended
	spread   int       // of probes after silence: thousandths of a second
	pausedTo time.Time // no query before
	limited  time.Time // since when probes fail again and again
	failed   time.Time // the last that did
	told     bool      // the small window was reported
}

func newWindow(most int) window { return window{most: most, size: float64(most)} }

// places is how many queries there may be at a time.
func (w *window) places() int { return max(int(w.size), 1) }

// room reports whether one more query may begin, else when to look again: the zero
// time, when one ends.
func (w *window) room(now time.Time) (ok bool, again time.Time) {
	if now.Before(w.pausedTo) {
		return false, w.pausedTo
	}
	return w.open < w.places(), time.Time{}
}

// answered notes an answer without suspicion, to a query that is still counted.
func (w *window) answered(now time.Time) {
	w.heard = now
	if now.Before(w.pausedTo) {
		return // it was on its way when the probe failed
	}
	w.fails = 0
	if 2*w.open >= w.places() { // else the bound was not reached
		w.size = min(w.size+1/w.size, float64(w.most))
	}
}

// learn reports whether to send a probe although there is no suspicion.
func (w *window) learn(now time.Time) bool {
	if w.quickest > 0 || now.Before(w.learnAt) {
		return false
	}
	w.learnAt = now.Add(learnEvery)
	return true
}

// mayProbe reports whether to verify a suspicion now, and after which wait.
func (w *window) mayProbe(now time.Time, silence bool) (wait time.Duration, ok bool) {
	if !silence {
		return 0, !now.Before(w.probeAt)
	}
	if now.Before(w.probedAt.Add(silenceProbeEvery)) || now.Before(w.probeAt) {
		return 0, false
	}
	w.spread = (w.spread + 618) % 1000 // the golden ratio: well spread, and no randomness
	return time.Duration(w.spread) * time.Millisecond, true
}

// probed notes the end of a probe: whether there was an answer, but a refusal, and after
// how long.
func (w *window) probed(now time.Time, took time.Duration, ok bool) {
	w.probeAt, w.probedAt = now.Add(probeEvery), now
	late := took >= lateProbe && w.quickest > 0 && took >= lateTimes*w.quickest
	switch {
	case ok && !late:
		w.heard, w.fails = now, 0
		if w.quickest == 0 || took < w.quickest {
			w.quickest = max(took, 1)
		}
		return
	case w.quickest == 0:
		return
	}
	w.size = max(min(w.size, float64(w.open))/2, 1)
	if w.limitedSince(now).IsZero() {
		w.limited = now
	}
	w.failed = now
	if ok {
		w.heard = now
		return // late: less at a time is all it needs
	}
	w.pausedTo = now.Add(min(firstPause<<min(w.fails, 10), maxPause))
	w.probeAt = w.pausedTo
	w.fails++
}

// limitedSince returns since when the server limits us, or the zero time.
func (w *window) limitedSince(now time.Time) time.Time {
	if w.failed.IsZero() || now.Sub(w.failed) >= limitedFor {
		return time.Time{}
	}
	return w.limited
}

// news reports whether people are to be told that the window has become small, or large
// again.
func (w *window) news() (small, changed bool) {
	switch {
	case !w.told && 2*w.places() < w.most, w.told && 4*w.places() >= 3*w.most:
		w.told = !w.told
		return w.told, true
	}
	return w.told, false
}
