package simweb

// appendLinks appends the pages that page links to, in the order of its body: its children in the
// host's tree, the calendar, then random ones. Both Reachable and the bodies use it.
func (w *Web) appendLinks(dst []uint32, page uint32) []uint32 {
	i := w.hostOf(page)
	h := &w.hosts[i]
	n := page - h.first
	switch w.kind(h, n) {
	case missing:
		return dst
	case redirect:
		return append(dst, w.redirectTarget(i, n))
	case day:
		if n+1 < h.pages+h.trap {
			dst = append(dst, page+1)
		}
		return append(dst, h.first)
	}
	start := len(dst)
	dst = w.appendChildren(dst, h, n, 0)
	if n == 0 && h.trap > 0 {
		dst = append(dst, h.first+h.pages)
	}
	if w.cfg.Thin {
		return append(dst, w.hanging[page]...)
	}
	for draw := uint64(0); len(dst)-start < w.cfg.LinksPerPage; draw++ {
		dst = append(dst, w.drawLink(i, page, draw))
	}
	return dst
}

// appendChildren appends the children of page n in its host's tree. Where a
// child has no links that can be followed, its own children take its place too,
// so that a redirect or a missing page does not cut off what lies behind it.
func (w *Web) appendChildren(dst []uint32, h *host, n uint32, depth int) []uint32 {
	fanout := uint64(w.fanout)
	if w.cfg.Thin && h.chained {
		fanout = 1
	}
	for c := uint64(n)*fanout + 1; c <= (uint64(n)+1)*fanout && c < uint64(h.pages); c++ {
		child := uint32(c)
		kind := w.kind(h, child)
		if kind != hidden {
			dst = append(dst, h.first+child)
		}
		if w.passesOver(h, child, kind) && depth < 8 {
			dst = w.appendChildren(dst, h, child, depth+1)
		}
	}
	return dst
}

// passesOver reports whether a page's children are linked from its parent too.
// In a thin web only those of a page that cannot lead to them itself.
func (w *Web) passesOver(h *host, n uint32, kind pageKind) bool {
	if w.cfg.Thin {
		return kind == redirect || kind == missing || !w.allowed(h, n)
	}
	return kind != plain
}

// drawLink draws a page of the same host or, by Config.CrossHost, of another,
// where big hosts and start pages are favoured. Hidden pages give way to their
// host's start page.
func (w *Web) drawLink(hostIndex int, page uint32, draw uint64) uint32 {
	r := w.random(uint64(page)<<16|draw&0xffff, saltLink)
	h := &w.hosts[hostIndex]
	cross := len(w.hosts) > 1 && int(r%1000) < w.cfg.CrossHost
	if cross {
		h = &w.hosts[w.drawHost(r>>10, hostIndex)]
		if r>>60 < 8 {
			return h.first
		}
	}
	n := uint32(mix(r) % uint64(h.pages))
	if w.kind(h, n) == hidden {
		return h.first
	}
	return h.first + n
}

// drawHost draws a host other than not; the square favours the first ones.
func (w *Web) drawHost(r uint64, not int) int {
	u := float64(r%(1<<40)) / (1 << 40)
	i := int(u * u * float64(len(w.hosts)))
	if i == not {
		i = (i + 1) % len(w.hosts)
	}
	return i
}

// redirectTarget returns the page that redirect n of a host points at: an
// earlier page of the host, so that redirects never go in circles, or, one time
// in eight, another host's start page.
func (w *Web) redirectTarget(hostIndex int, n uint32) uint32 {
	h := &w.hosts[hostIndex]
	r := w.random(uint64(h.first+n), saltTarget)
	if r%8 == 0 && w.cfg.CrossHost > 0 && w.cfg.Hosts > 1 {
		return w.hosts[int(r>>8%uint64(w.cfg.Hosts))].first
	}
	target := uint32(r >> 8 % uint64(n))
	if w.kind(h, target) == hidden {
		target = 0
	}
	return h.first + target
}

// redirectStatus returns one of the four redirect statuses.
func (w *Web) redirectStatus(page uint32) int {
	return [...]int{301, 302, 307, 308}[w.random(uint64(page), saltTarget)>>48%4]
}

// hang links each host of a thin web, except those of the seeds, from one plain page of an earlier
// host, so that there is exactly one way to it. Dead hosts too: a missing address must not delay
// the rest.
func (w *Web) hang() {
	if !w.cfg.Thin {
		return
	}
	w.hanging = make(map[uint32][]uint32)
	for i := w.cfg.SeedHosts; i < len(w.hosts); i++ {
		r := w.random(uint64(i), saltHang)
		parent := &w.hosts[r%uint64(min(i, w.cfg.Hosts))]
		n := uint32(r >> 32 % uint64(parent.pages))
		for w.kind(parent, n) != plain { // the start page is
			n--
		}
		w.hanging[parent.first+n] = append(w.hanging[parent.first+n], w.hosts[i].first)
	}
}
