package traps

import (
	"slices"
	"strings"
)

// kind is a way to make families of shapes.
type kind uint8

// In the order of preference: of families with the same pages, the first is taken.
const (
	byParameter kind = iota // a path with a parameter of this name
	byFolder                // everything below a folder
	byShape                 // the shape itself
	byQuery                 // a path with any query
	byValue                 // a path with this parameter and value, whatever the others are
	bySession               // any path with a parameter that has a session id
)

// family is a set of shapes. It is comparable, so that shapes can be counted by family.
type family struct {
	kind kind
	path string // of byFolder with a slash at its end; "" for bySession
	part string // the parameter's name, or name and value; of byShape the key
}

// maxFolders bounds the folders of one path that are families.
const maxFolders = 12

// families calls add for each family that the shape belongs to. A shape with a session id belongs
// to no others: they would contain the same pages without one, which are worth having.
func (s *shape) families(add func(family)) {
	if name := s.session(); name != "" {
		add(family{kind: bySession, part: name})
		return
	}
	add(family{kind: byShape, path: s.path, part: s.key()})
	for at, n := 1, 0; n < maxFolders; n++ {
		end := strings.IndexByte(s.path[at:], '/')
		if end < 0 {
			break
		}
		if at += end + 1; at < len(s.path) || s.query {
			add(family{kind: byFolder, path: s.path[:at]})
		}
	}
	if !s.query {
		return
	}
	add(family{kind: byQuery, path: s.path})
	for i, p := range s.params {
		name, value, ok := strings.Cut(p, "=")
		if !ok || i >= maxFolders {
			continue
		}
		add(family{kind: byParameter, path: s.path, part: name})
		if value == string(token) {
			add(family{kind: bySession, part: name})
		}
		if value != "" && !strings.ContainsAny(value, string(number)+string(token)) {
			add(family{kind: byValue, path: s.path, part: p})
		}
	}
}

// session is the name of a parameter with a session id, or "".
func (s *shape) session() string {
	for _, segment := range strings.Split(s.path, ";")[1:] {
		if name, _, ok := strings.Cut(segment, "="); ok && isSession(name) {
			return name
		}
	}
	for _, p := range s.params {
		if name, _, ok := strings.Cut(p, "="); ok && isSession(name) {
			return name
		}
	}
	return ""
}

// counts are the pages of one shape.
type counts struct {
	shape         shape
	barren, novel int
	early         int    // pages among the first of the site, which were not looked at
	inRow         int    // novel pages since the last barren one, of those that were looked at
	unseen        int    // pages since then that were not looked at
	example       string // the URL of the first page
	last          string // that of the last one that was barren
	// For shapes with one number: the largest of a novel page, and the smallest of a barren one.
	lastNovel, firstBarren int
}

// real reports whether the shape is of pages that are worth having.
func (c *counts) real() bool { return c.novel > c.barren }

// sum is what is known of a family.
type sum struct {
	barren, novel int
	shapes, real  int  // shapes, and those that are real
	solid         bool // a real shape has several pages
	leading       int  // shapes whose query begins with the family's parameter
}

// isTrap is the rule. Each kind may contain as much of what is real as the kind makes likely to be
// of the trap too: permutations of filters have some that show what the others did not.
func (f family) isTrap(s *sum) bool {
	if s.barren < MinBarren || s.barren <= 2*s.novel {
		return false
	}
	switch f.kind {
	case byFolder, byShape:
		return s.real == 0
	case bySession:
		return true // the first page of each path is novel, with or without a session id
	}
	return !s.solid && 10*s.real <= s.shapes
}

// better reports whether f is to be told rather than g.
func (f family) better(s *sum, g family, t *sum) bool {
	switch {
	case s.barren != t.barren:
		return s.barren > t.barren
	case s.novel != t.novel:
		return s.novel < t.novel
	case f.kind == g.kind && s.leading != t.leading:
		return s.leading > t.leading
	}
	if a, b := f.ragged(), g.ragged(); a != b {
		return b
	}
	switch {
	case f.kind != g.kind:
		return f.kind < g.kind
	case len(f.path) != len(g.path):
		return len(f.path) > len(g.path)
	}
	return f.path+f.part < g.path+g.part
}

// ragged reports whether a folder's name has a placeholder, or it is one of a path that another
// family names more simply.
func (f family) ragged() bool {
	return f.kind == byFolder && strings.ContainsAny(f.path, string(number)+string(token))
}

// trapped returns the families of these shapes that are traps, the one to be told first.
func trapped(shapes map[string]*counts) []family {
	sums := map[family]*sum{}
	for _, c := range shapes {
		if c.barren > 0 {
			c.shape.families(func(f family) { sums[f] = &sum{} })
		}
	}
	for _, c := range shapes {
		c.shape.families(func(f family) {
			s := sums[f]
			if s == nil {
				return
			}
			s.barren += c.barren
			s.shapes++
			if f.kind == byParameter && strings.HasPrefix(c.shape.params[0], f.part+"=") {
				s.leading++
			}
			if f.kind == byShape && c.cut() {
				return // its novel pages stay
			}
			if s.novel += c.novel; c.real() {
				s.real++
				s.solid = s.solid || c.novel > 2
			}
		})
	}
	var traps []family
	for f, s := range sums {
		if f.isTrap(s) {
			traps = append(traps, f)
		}
	}
	slices.SortFunc(traps, func(f, g family) int {
		if f.better(sums[f], g, sums[g]) {
			return -1
		}
		return 1
	})
	return traps
}

// has reports whether a shape belongs to the family.
func (f family) has(s *shape) (yes bool) {
	s.families(func(g family) { yes = yes || f == g })
	return yes
}
