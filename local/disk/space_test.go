package disk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/local/datadir"
)

// TestSpace: a path that cannot be asked is not judged, and the others are.
func TestSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var d Space
	if d.look(filepath.Join(dir, "missing")) || d.free(dir) != nil {
		t.Error("a path that is not there was judged")
	}
	d.look(dir, filepath.Join(dir, "missing"))
	if free := d.free(dir); free == nil || *free <= 0 {
		t.Errorf("free space %v", free)
	}
	since := time.Now().Add(-time.Hour)
	d.volumes = []Volume{{Path: dir, low: true, Since: since}, {Path: "gone", low: true}}
	d.low.Store(true)
	changed := d.look(dir)
	short := d.Short()
	if *d.free(dir) >= 2*LowBytes && (!changed || len(short) > 0) {
		t.Errorf("there is space and yet short: %+v", short)
	}
	if slices.ContainsFunc(short,
		func(v Volume) bool { return v.Path == "gone" || !v.Since.Equal(since) }) {
		t.Errorf("short %+v", short)
	}
	if !datadir.SameVolume(dir, filepath.Join(dir, "missing")) || !datadir.SameVolume(dir, dir) {
		t.Error("one folder on two volumes")
	}
}

// TestFewFiles: the volume of the data directory is low when few files can be made there, until
// twice as many can; that of the archive is not, and one without a limit never.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	d := NewSpace(dir, func(string) (int64, error) { return 1 << 40, nil })
	for i, c := range []struct {
		files        int64
		limited, low bool
	}{{LowFiles, true, false}, {LowFiles - 1, true, true}, {2*LowFiles - 1, true, true},
		{2 * LowFiles, true, false}, {0, false, false}, {0, true, true}} {
		d.files = func(string) (int64, bool) { return c.files, c.limited }
		d.look(dir.Path(), t.TempDir())
		short := d.Short()
		if d.Low() != c.low || len(short) > 1 || c.low != (len(short) == 1) {
			t.Fatalf("look %d: low %t, short %+v", i, d.Low(), short)
		}
		if c.low {
			lack, until := short[0].Lacks()
			if want := fmt.Sprintf("inodes for only %d more files at %s", c.files,
				dir.Path()); !strings.Contains(lack, want) || !strings.Contains(until, fmt.Sprint(2*LowFiles)) {
				t.Errorf("look %d: %s: %s", i, lack, until)
			}
		}
	}
	if got := d.Paths(); len(got) != 2 || got[0] != dir.Path() {
		t.Errorf("volumes %v", got)
	}
	if lack, until := (Volume{
		Path: "/data",
		Free: 90 << 20,
	}).Lacks(); lack != "only 90 MiB are free at /data" || !strings.Contains(until, "256 MiB") {
		t.Errorf("%s: %s", lack, until)
	}
}

// TestRoom: a new node needs more than one that has its files.
func TestRoom(t *testing.T) {
	t.Parallel()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, c := range []struct {
		free         int64
		begin, fresh bool
	}{{LowBytes - 1, false, false}, {LowBytes, false, true}, {LowBytes + beginBytes, true, true}} {
		d := NewSpace(dir, func(string) (int64, error) { return c.free, nil })
		if begin, fresh := d.RoomToBegin(), d.RoomForNew(); (begin == nil) != c.begin ||
			(fresh == nil) != c.fresh {
			t.Errorf("%d bytes are free: %v, %v", c.free, begin, fresh)
		}
	}
}

// TestSpaceLook: a look at the volumes counts for a moment, and only with plenty left.
func TestSpaceLook(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	l := &spaceLook{at: at, spare: plenty + 100}
	if !l.vouches(at.Add(plentyFor-1), 100) {
		t.Error("there is plenty, and it is asked for again")
	}
	for name, bad := range map[string]bool{
		"too old":        l.vouches(at.Add(plentyFor), 100),
		"too little":     l.vouches(at, 101),
		"never looked":   (*spaceLook)(nil).vouches(at, 0),
		"less than none": (&spaceLook{at: at, spare: -1}).vouches(at, 0),
	} {
		if bad {
			t.Errorf("%s: the look counts", name)
		}
	}
}

// What a full disk refuses is done when there is space, and not once nobody waits.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := fmt.Errorf("write the scope entries: %w", syscall.ENOSPC)
		tries := 0
		err := Retry(t.Context(), t.Context(), func() error {
			if tries++; tries < 4 {
				return full
			}
			return nil
		})
		if err != nil || tries != 4 {
			t.Errorf("after %d tries: %v", tries, err)
		}
		broken := errors.New("input/output error")
		if err := Retry(t.Context(), t.Context(), func() error { return broken }); !errors.Is(err,
			broken) {
			t.Errorf("another error: %v", err)
		}
		running, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := Retry(t.Context(), running, func() error { return full }); !errors.Is(err, ErrStopped) {
			t.Errorf("at the end of the node: %v", err)
		}
	})
}
