package workers

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"time"
)

// A lease's id is 32 random hexadecimal digits and the second in which it ends, by the clock of the
// node that the worker asked. Who knows an id may send its results. The time is only used to give
// up when no node answers for a URL, and when there is no result to judge.

// idRandom is the random part, in bytes.
const idRandom = 16

// maxLeaseID bounds an id. Longer ones are none of a node's, and are not hashed with each URL.
const maxLeaseID = 64

// overAfter is how long after its end a lease is over for any clock.
const overAfter = time.Minute

// newLeaseID makes an id for a lease that ends at end.
func newLeaseID(end time.Time) string {
	var raw [idRandom]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return hex.EncodeToString(raw[:]) + strconv.FormatInt(end.Unix(), 16)
}

// endOf is when a lease ends, to the second; false: no node gives such an id.
func endOf(id string) (end time.Time, ok bool) {
	if len(id) <= 2*idRandom || len(id) > maxLeaseID {
		return end, false
	}
	if _, err := hex.DecodeString(id[:2*idRandom]); err != nil {
		return end, false
	}
	s, err := strconv.ParseUint(id[2*idRandom:], 16, 40) // until the year 36812
	return time.Unix(int64(s)+1, 0), err == nil
}

// leaseOver reports whether a lease has ended long ago, or is none that a node has given.
func leaseOver(id string, now time.Time) bool {
	end, ok := endOf(id)
	return !ok || now.After(end.Add(overAfter))
}
