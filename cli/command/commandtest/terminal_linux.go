package commandtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// OpenTerminal makes a pseudo-terminal of some columns. What is written to the
// terminal is collected until the test asks for it.
func OpenTerminal(t *testing.T, columns uint16) (terminal *os.File, written func() string) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{
		Row: 24,
		Col: columns,
	}); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(&b, control) }) // ends with an error when the terminal is closed
	var once sync.Once
	end := func() { once.Do(func() { _ = terminal.Close(); wg.Wait(); _ = control.Close() }) }
	t.Cleanup(end)
	return terminal, func() string { end(); return b.String() }
}
