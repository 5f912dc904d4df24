package crawl

// Signal fills a channel of capacity 1 that says "look": what there is to see stands elsewhere.
// It does not block. A signal that nobody has taken yet stands for the later ones as well.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
