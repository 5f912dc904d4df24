package storage

import "testing"

func TestWorthCompacting(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name    string
		s       storeSize
		deleted int64
		want    bool
	}{
		{"nothing was deleted", storeSize{young: 9 * mb, all: 100 * mb, free: 200 * mb}, 0, false},
		{"little", storeSize{all: 20 * mb, free: -1}, 15 * mb, false},
		{"a small part", storeSize{all: 200 * mb, free: -1}, 40 * mb, false},
		{"much of a small store", storeSize{all: 200 * mb, free: -1}, 60 * mb, true},
		{"much of a large store", storeSize{all: 900 * mb, free: 9000 * mb}, 600 * mb, false},
		{"a large store on a full disk", storeSize{young: 70 * mb, all: 900 * mb, free: 200 * mb}, mb, true},
		{"no room for it", storeSize{young: 70 * mb, all: 900 * mb, free: 100 * mb}, 600 * mb, false},
	} {
		if got := c.s.worth(c.deleted); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
