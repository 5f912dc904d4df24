package dnscache

import "time"

// A server's answers to the names that we want say little of the server: some name is
// always broken, slow or without servers of its own, and whoever links to many of those
// must not slow the look-ups of others. So a refusal, a late answer, or silence while
// others are answered is a suspicion only. It is followed by a question that every
// resolver has the answer to in memory, the servers of the root (a probe): only a
// refusal, silence or a late answer to that counts against the server.
const (
	// lateAnswer is from when on an answer is a suspicion.
	lateAnswer = 500 * time.Millisecond
	// A probe is late from so long on, if it also took lateTimes what the quickest did.
	lateProbe = 300 * time.Millisecond
	lateTimes = 8
	// probeTimeout bounds a probe, or the time-out of a query if that is less.
	probeTimeout = time.Second
	// probeEvery is the least time between two probes of a server. A limit for each second
	// shows during a part of the second only.
	probeEvery = 100 * time.Millisecond
	// After silence a probe is sent a part of a second later, each time another part, and less often: those
	// who were dropped together time out together, when a limit has just begun anew.
	silenceProbeEvery = time.Second
	// limitedFor is how long after a probe that failed a query that is not answered counts
	// as one more that the limit caught, whatever probes say meanwhile.
	limitedFor = 10 * time.Second
	// learnEvery is how often a server that answers is probed until it has answered a
	// probe: with its first answer, usually.
	learnEvery = time.Minute
	// After a probe that failed the server is left alone: for the first value, doubled
	// by each further one in a row, up to the last.
	firstPause = 500 * time.Millisecond
	maxPause   = 4 * time.Second
)

// window bounds the queries that one server has to answer at a time. It begins with the
// most that are allowed, falls to half with each probe that fails, and grows by one with
// as many answers as it is large: additive increase, multiplicative decrease. It is
// pure: time is an argument.
type window struct {
	most  int
	size  float64 // 1 to most
	open  int     // queries under way
	heard time.Time

	quickest time.Duration // answer to a probe; 0: the server never answered one, so they prove nothing
	learnAt  time.Time     // when the next probe is sent without a suspicion, while quickest is 0
	fails    int           // probes in a row
	probeAt  time.Time     // no probe before
	probedAt time.Time     // when the last ended
	spread   int           // of probes after silence: thousandths of a second
	pausedTo time.Time     // no query before
	limited  time.Time     // since when probes fail again and again
	failed   time.Time     // the last that did
	told     bool          // that it is small
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

// answered notes an answer that is above suspicion, to a query that is still counted.
func (w *window) answered(now time.Time) {
	w.heard = now
	if now.Before(w.pausedTo) {
		return // it was on its way when the probe failed
	}
	w.fails = 0
	if 2*w.open >= w.places() { // else the bound was not tried
		w.size = min(w.size+1/w.size, float64(w.most))
	}
}

// learn reports whether a probe is to be sent although nothing is suspicious.
func (w *window) learn(now time.Time) bool {
	if w.quickest > 0 || now.Before(w.learnAt) {
		return false
	}
	w.learnAt = now.Add(learnEvery)
	return true
}

// mayProbe reports whether a suspicion is to be followed up now, and after what wait.
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
