package urlnorm

import "testing"

func BenchmarkResolve(b *testing.B) {
	base, err := Parse("http://docs.example.org/guide/install/linux.html?lang=en")
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct{ name, ref string }{
		{"absolute", "http://docs.example.org/guide/install/windows.html?lang=en"},
		{"path", "/guide/install/windows.html"},
		{"relative", "../upgrade/index.html#top"},
		{"query", "?lang=de"},
		{"odd", "/guide/größe.html"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := base.Resolve(bb.ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
