//go:build !linux

package commandtest

import (
	"os"
	"testing"
)

// OpenTerminal leaves the test out: pseudo-terminals are made here by the calls of Linux alone.
func OpenTerminal(t *testing.T, _ uint16) (terminal *os.File, written func() string) {
	t.Helper()
	t.Skip("makes a pseudo-terminal of Linux")
	return nil, nil
}
