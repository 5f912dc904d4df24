package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A loss of power takes what was written and not synced, and what is left looks
// whole. That it has happened can be seen: the machine runs since another moment than
// when the store was opened last, and the store was not closed since. Every partition
// is then unsure: what was acknowledged last may be missing here, and not in the other
// copies. A kill of the process loses nothing and is none.

// bootFile names, in the store's folder, the run of the machine in which the store was
// opened. syncedAlways stands behind it when each write was synced, so that nothing
// can have been lost; closedProperly stands there instead when all was.
const (
	bootFile       = "MACHINE"
	syncedAlways   = " synced"
	closedProperly = "closed"
)

// MachineRun names the present run of this machine; "" where it has no name.
func MachineRun() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// readBoot finds out whether the machine ended while the store was open.
func readBoot(dir, run string) (lost bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, bootFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // a new store
	}
	if err != nil {
		return false, err
	}
	was := strings.TrimSpace(string(b))
	safe := was == closedProperly || was == "" || was == run || strings.HasSuffix(was, syncedAlways)
	return run != "" && !safe, nil
}

// writeBoot writes a run, or closedProperly, durably: an older content must not come back.
func writeBoot(files *fileSync, what string) error {
	err := WriteFile(filepath.Join(files.dir, bootFile), func(w io.Writer) error {
		_, err := io.WriteString(w, what+"\n")
		return err
	})
	if err == nil {
		err = files.file(".") // the folder, which has its name
	}
	if err != nil {
		return fmt.Errorf("frontier: note which run of the machine has the store open: %w", err)
	}
	return nil
}

// LostPower implements powerless.
func (b *badgerKV) LostPower() bool { return b.lostPower }

// NotePowerLoss implements powerless.
func (b *badgerKV) NotePowerLoss() error {
	b.lostPower = false
	what := b.run
	if b.synced {
		what += syncedAlways
	}
	return writeBoot(b.files, what)
}
