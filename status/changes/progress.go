package changes

import "time"

// progress turns what is left to do into done and total, since the last time that
// nothing was left.
type progress struct{ most int }

func (p *progress) read(left int) (done, total int) {
	if left == 0 {
		p.most = 0
	}
	p.most = max(p.most, left)
	return p.most - left, p.most
}

// Progress takes how many partitions are left to move and how many copies to make, and returns
// done and total of both.
func (l *Log) Progress(leaving, copies int) (moves, repairs [2]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	moves[0], moves[1] = l.moves.read(leaving)
	repairs[0], repairs[1] = l.repairs.read(copies)
	return moves, repairs
}

// PausedSince takes whether this node is in a minority now, and returns since when; zero when it
// is not.
func (l *Log) PausedSince(minority bool, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !minority:
		l.paused = time.Time{}
	case l.paused.IsZero():
		l.paused = now
	}
	return l.paused
}
