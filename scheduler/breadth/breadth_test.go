package breadth

import "testing"

// The number grows while fetchers alone are the limit, and for no other reason.
func TestLook(t *testing.T) {
	t.Parallel()
	wide := Load{Busy: 1 << 20, Ready: 5, CPU: 0.3, Machine: 0.6}
	for name, c := range map[string]struct {
		load        Load
		looks, want int
	}{
		"first look":       {wide, 1, 256},
		"one step":         {wide, 2, 320},
		"three steps":      {wide, 6, 500},
		"up to the bound":  {wide, 100, 1024},
		"no host is ready": {Load{Busy: 1 << 20, CPU: 0.3, Machine: 0.6}, 100, 256},
		"this process is at its limit": {Load{Busy: 1 << 20, Ready: 5, CPU: 0.75, Machine: 0.8}, 100,
			256},
		"the machine is at its limit": {Load{Busy: 1 << 20, Ready: 5, CPU: 0.5, Machine: 0.97}, 100,
			256},
		"others keep the machine busy":  {Load{Busy: 1 << 20, Ready: 5, CPU: 0.2, Machine: 1}, 100, 1024},
		"the system tells nothing":      {Load{Busy: 1 << 20, Ready: 5}, 100, 1024},
		"fetchers are free":             {Load{Busy: 200, Ready: 5, CPU: 0.3, Machine: 0.6}, 100, 256},
		"nothing to do, at the default": {Load{}, 100, 256},
	} {
		b := New(256, 1024)
		for range c.looks {
			b.Look(c.load)
		}
		if b.Now() != c.want {
			t.Errorf("%s: %d fetches after %d looks, want %d", name, b.Now(), c.looks, c.want)
		}
	}
}

// What is not used any more is given back slowly, down to the number at the start.
func TestLookShrinks(t *testing.T) {
	t.Parallel()
	b := New(256, 1024)
	for range 100 {
		b.Look(Load{Busy: b.Now(), Ready: 1})
	}
	for range shrinkLooks - 1 {
		b.Look(Load{Busy: 100})
	}
	if b.Now() != 1024 {
		t.Errorf("%d after nine quiet looks, want 1024", b.Now())
	}
	if b.Look(Load{Busy: 100}); b.Now() != 896 {
		t.Errorf("%d after ten quiet looks, want 896", b.Now())
	}
	for range 200 {
		b.Look(Load{})
	}
	if b.Now() != 256 {
		t.Errorf("%d in the end, want 256", b.Now())
	}
}

// A number that was given stays.
func TestGiven(t *testing.T) {
	t.Parallel()
	b := New(1, 1)
	for range 100 {
		b.Look(Load{Busy: 1, Ready: 100})
	}
	if b.Now() != 1 || b.Most() != 1 {
		t.Errorf("%d, at most %d, want 1", b.Now(), b.Most())
	}
}

func TestMost(t *testing.T) {
	t.Parallel()
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct {
		fetchers int
		memory   int64
		files    uint64
		want     int
	}{
		{256, gib, 1 << 20, 1024}, {256, gib, 0, 1024}, {256, 64 * mib, 1 << 20, 256},
		{256, 512 * mib, 1 << 20, 512}, {256, 64 * gib, 1 << 62, 4096},
		{256, gib, 1024, 256}, {256, gib, 2048, 512}, {256, gib, 4096, 1024}, {5000, gib, 1 << 20, 5000},
	} {
		if got := Most(c.fetchers, c.memory, c.files); got != c.want {
			t.Errorf("%d with %d MiB and %d files, want %d", got, c.memory/mib, c.files, c.want)
		}
	}
}

// TestKept: fetches, kept connections and the rest together open no more files than the process
// may.
func TestKept(t *testing.T) {
	t.Parallel()
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct {
		fetchers int
		memory   int64
		files    uint64
		want     int
	}{
		{256, gib, 1 << 20, 4096}, {256, gib, 0, 4096}, {256, 128 * mib, 1 << 20, 1024},
		{256, 512 * mib, 1 << 20, 2048}, {256, 64 * gib, 1 << 62, 4096}, {4, gib, 1 << 20, 64},
		{256, gib, 1024, 256}, {256, gib, 2048, 1024}, {256, gib, 4096, 2560}, {256, gib, 8192, 4096},
	} {
		b := For(c.fetchers, true, c.memory, func() uint64 { return c.files })
		got := b.Kept()
		if got != c.want {
			t.Errorf("%d with %d MiB and %d files, want %d", got, c.memory/mib, c.files, c.want)
		}
		if all := uint64(got + b.Most() + baseFiles); c.files > 0 && all > c.files {
			t.Errorf("%d files of %d", all, c.files)
		}
	}
}
