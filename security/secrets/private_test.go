package secrets

import (
	"io/fs"
	"testing"
)

func TestTooOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode        fs.FileMode
		owner, self int
		want        bool
	}{
		{0o600, 7, 7, false},
		{0o400, 7, 7, false},
		{0o640, 7, 7, true},
		{0o604, 7, 7, true},
		{0o440, 0, 7, false}, // of a Secret in Kubernetes
		{0o640, 0, 7, false},
		{0o660, 0, 7, true},
		{0o444, 0, 7, true},
		{0o440, 0, 0, true},
	} {
		if got := tooOpen(c.mode, c.owner, c.self); got != c.want {
			t.Errorf("mode %04o, owner %d, for %d: %v", c.mode, c.owner, c.self, got)
		}
	}
}
