package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// fillDue writes due pages into a partition, one each second, without their records.
func fillDue(b *testing.B, r *running, pages int) {
	b.Helper()
	gen := layout.Generation{Number: r.Metas()[0].Generation}
	at := time.Now()
	var entries []storage.Entry
	for n := range pages {
		var fp layout.Fingerprint
		binary.BigEndian.PutUint64(fp[:], uint64(n)*0x9e3779b97f4a7c15)
		d := layout.DueAt(at.Add(time.Duration(n)*time.Second),
			crawl.Host(fmt.Sprintf("h%d.p0.test", n%997)), fp)
		key := layout.AppendDueKey(layout.AppendPrefix(nil, gen.Partition, gen.Number), &d)
		entries = append(entries, storage.Entry{Key: key, Value: layout.EncodeDue(Estimate{})})
		if len(entries) == 5000 || n == pages-1 {
			if err := r.w.KV.Write(entries); err != nil {
				b.Fatal(err)
			}
			entries = entries[:0:0]
		}
	}
}

// BenchmarkDue finds the next due page of 10 million (20,000 with -short), while pages leave the
// front: each round asks for the next due time after the 64 first pages were taken out, which is a
// read of the store, and reads the 64 that are first now. The figures are for both; taking out does
// not count. next-ms are quantiles of the first question, heap-MB is what the process has in memory
// after a collection.
func BenchmarkDue(b *testing.B) {
	pages := 10_000_000
	if testing.Short() {
		pages = 20_000
	}
	dir := b.TempDir()
	kv, err := storage.OpenBadger(dir, storage.BadgerOptions{})
	if err != nil {
		b.Fatal(err)
	}
	r := startJudged(b, kv, 1, &testJudge{}, commit.Options{})
	fillDue(b, r, pages)
	if err := errors.Join(r.stop(), r.Close()); err != nil {
		b.Fatal(err)
	}
	if kv, err = storage.OpenBadger(dir, storage.BadgerOptions{}); err != nil { // as after a restart
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = kv.Close() })
	r = startWith(b, kv, commit.Options{}, &testJudge{})
	far := time.Now().Add(100 * 365 * 24 * time.Hour)
	var next []time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		begun := time.Now()
		_, ok, err := r.DueHead(0)
		next = append(next, time.Since(begun))
		if err != nil || !ok {
			b.Fatal(ok, err)
		}
		ds, err := r.Due(0, far, 64)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := r.MoveDue(b.Context(), ds); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	slices.Sort(next)
	for _, q := range []int{50, 99, 100} {
		b.ReportMetric(next[(len(next)-1)*q/100].Seconds()*1e3, fmt.Sprintf("next-ms-p%d", q))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
}

// BenchmarkEachPlanned reads what 1 million pages (20,000 with -short) count for, as a node does
// that gets a partition. The figure is for all of them.
func BenchmarkEachPlanned(b *testing.B) {
	pages := 1_000_000
	if testing.Short() {
		pages = 20_000
	}
	r := benchFrontier(b, 1, commit.Options{})
	fillDue(b, r, pages)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := r.EachPlanned(0, func(Estimate) bool { n++; return true }); err != nil || n != pages {
			b.Fatal(n, err)
		}
	}
}
