package workers

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"time"
)

// A lease's id is 32 random hexadecimal digits and the second in which it ends, by the clock of the node that the worker asked. Who knows
// an id may send its results. The time is only used to give up when no node answers for a URL.

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

// leaseOver reports whether a lease has ended long ago, or is none that a node has given.
func leaseOver(id string, now time.Time) bool {
	if len(id) <= 2*idRandom {
		return true
	}
	end, err := strconv.ParseInt(id[2*idRandom:], 16, 64)
	return err != nil || now.After(time.Unix(end, 0).Add(overAfter))
}
