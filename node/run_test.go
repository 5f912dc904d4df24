package node

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"crawlnode/local/datadir"
)

// TestStorageFirst: whichever goroutine first notices a store that fails, the node ends
// with a storage error, which has its own exit code and says what to do.
func TestStorageFirst(t *testing.T) {
	t.Parallel()
	broken := fmt.Errorf("the store failed: %w", syscall.EIO)
	promotion := fmt.Errorf("promote a copy: %w", broken)
	for name, c := range map[string]struct {
		err, broken error
		storage     bool
	}{
		"the store's own failure":   {broken, broken, true},
		"a promotion came first":    {promotion, broken, true},
		"a cluster problem alone":   {clusterError("join", errors.New("name taken")), nil, false},
		"it ended without an error": {nil, broken, false},
	} {
		got := datadir.StorageFirst(c.err, c.broken)
		if errors.Is(got, ErrStorage) != c.storage || (got == nil) != (c.err == nil) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
