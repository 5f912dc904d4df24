package frontier

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// BenchmarkHostJars measures what the jars of 100,000 hosts with three cookies each cost: on disk,
// in a store that has nothing else, and on the heap if all were read at once. A node reads the jar
// of a host for each of its visits, and keeps none in memory.
func BenchmarkHostJars(b *testing.B) {
	const hosts = 100_000
	for b.Loop() {
		dir := b.TempDir()
		o := storage.OptionsFor(1<<30, false, slog.New(slog.DiscardHandler))
		kv, err := storage.OpenBadger(dir, o)
		if err != nil {
			b.Fatal(err)
		}
		key := func(i int) []byte {
			return layout.AppendCookiesKey(nil, crawl.Host(fmt.Sprintf("www%d.example%d.test", i, i)))
		}
		written := 0
		var batch []storage.Entry
		for i := range hosts {
			jar := fmt.Sprintf("sid=%s; Path=/; Secure\n_ga=GA1.2.%s; Path=/; Domain=example%d.test; "+
				"Expires=Sat, 01 Jan 2028 00:00:00 GMT\nlang=en; Path=/",
				rand.Text(), rand.Text(), i)
			written += len(jar)
			if batch = append(batch, storage.Entry{Key: key(i), Value: []byte(jar)}); len(batch) == 1000 {
				if err := kv.Write(batch); err != nil {
					b.Fatal(err)
				}
				batch = batch[:0:0]
			}
		}
		b.ReportMetric(float64(written)/hosts, "jar-bytes/host")
		s, err := kv.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		jars := make([][]byte, hosts)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range jars {
			jar, ok, err := s.Get(key(i), nil)
			if err != nil || !ok {
				b.Fatal(ok, err)
			}
			jars[i] = jar
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/hosts, "heap-bytes/host")
		runtime.KeepAlive(jars)
		s.Close()
		if err := kv.Close(); err != nil {
			b.Fatal(err)
		}
		var size int64
		err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				size += info.Size()
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/hosts, "disk-bytes/host")
	}
}
