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

// BenchmarkPage canonicalises the 40 links of a page: 36 usual paths and absolute links, and four
// odd ones.
func BenchmarkPage(b *testing.B) {
	base, err := Parse("http://docs.example.org/guide/install/linux.html?lang=en")
	if err != nil {
		b.Fatal(err)
	}
	var refs []string
	for i := range 12 {
		n := string(rune('a' + i))
		refs = append(refs, "/guide/section-"+n+"/index.html", "../"+n+"/page.html#part",
			"https://other-"+n+".example.net/articles/2024/11/"+n+".html")
	}
	refs = append(refs, "/guide/größe.html", "?lang=de&x=a b", "HTTP://Docs.Example.org:80/x/../y",
		"//cdn.example.com/a%7eb/")
	b.ReportAllocs()
	for b.Loop() {
		var k Packer
		for _, ref := range refs {
			if _, err := k.Resolve(base, ref); err != nil {
				b.Fatal(ref, err)
			}
		}
	}
}
