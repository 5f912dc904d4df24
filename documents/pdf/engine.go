package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// defaultMemory is the memory of a file in bytes, and wasmPage the unit in which it is given out.
const (
	defaultMemory = 256 << 20
	wasmPage      = 64 << 10
)

// ErrClosed is the error of an engine that has been closed.
var ErrClosed = errors.New("pdf: the engine is closed")

// Options are the options of an Engine. The zero value is usable.
type Options struct {
	// CacheDir is a folder for the translated program, some 20 MiB for each version of it. It is
	// made when it is missing. Whoever may write there may run code as this process. "" translates
	// at each start; so does a folder that cannot be used, with a warning in the log.
	CacheDir string

	// Memory is the most that PDFium gets for one file, in bytes: the file itself, its decompressed
	// parts and its text. PDFium alone needs 20 MiB. 0 is 256 MiB.
	Memory int64

	// Workers is the number of files that are read at once. 0 is 1.
	Workers int

	// Log gets the starts. nil is none.
	Log *slog.Logger
}

// Engine reads PDF files. Its methods may be called from many goroutines.
type Engine struct {
	options Options
	slots   chan struct{} // one element for each file that is being read
	closing chan struct{} // closed by Close

	mu      sync.Mutex // guards attempt and the closing of closing; nothing waits while holding it
	attempt *attempt   // the last start; nil before the first

	// creating is held while an instance is made, so that the memory that is asked for then is
	// known to be its own. It also guards made.
	creating sync.Mutex
	made     *memory
}

// attempt is one start of the engine. What it found is set before over is closed.
type attempt struct {
	over  chan struct{}
	pool  pdfium.Pool
	cache wazero.CompilationCache // nil for none
	err   error
}

// New returns an engine. It starts nothing; Close it nevertheless.
func New(o Options) *Engine {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	o.Workers = max(o.Workers, 1)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{
		options: o,
		slots:   make(chan struct{}, o.Workers),
		closing: make(chan struct{}),
	}
}

// Start starts the engine if it does not run, and waits for it, at most until ctx ends. The start
// itself goes on then. Read does the same: a caller that gives a file little time calls Start
// before that time begins. After a start that failed the next call tries again.
func (e *Engine) Start(ctx context.Context) error {
	_, err := e.running(ctx)
	return err
}

func (e *Engine) running(ctx context.Context) (pdfium.Pool, error) {
	a, err := e.begin()
	if err != nil {
		return nil, err
	}
	select {
	case <-a.over:
		return a.pool, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("pdf: the engine is still starting: %w", context.Cause(ctx))
	}
}

// begin returns the current start, and begins one if there is none that runs or has succeeded.
func (e *Engine) begin() (*attempt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isClosed() {
		return nil, ErrClosed
	}
	if a := e.attempt; a != nil {
		select {
		case <-a.over:
			if a.err == nil {
				return a, nil
			}
		default:
			return a, nil
		}
	}
	a := &attempt{over: make(chan struct{})}
	e.attempt = a
	go func() { // Close waits for it
		defer close(a.over)
		e.start(a)
	}()
	return a, nil
}

// start translates the program. It is not interrupted: the result is wanted by all files to come.
func (e *Engine) start(a *attempt) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCloseOnContextDone(true).
		WithMemoryLimitPages(uint32(min(e.options.Memory/wasmPage, 1<<16)))
	if dir := e.options.CacheDir; dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			e.options.Log.Warn("pdf reader: no cache of the translated program",
				"dir", dir, "err", err)
		} else {
			a.cache, config = cache, config.WithCompilationCache(cache)
		}
	}
	allocator := experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		e.made = &memory{most: most}
		return e.made
	})
	pool, err := webassembly.Init(webassembly.Config{
		Context:       experimental.WithMemoryAllocator(context.Background(), allocator),
		MaxTotal:      e.options.Workers,
		RuntimeConfig: config,
		FSConfig:      wazero.NewFSConfig(), // no files: nil would be the whole file system
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if err != nil {
		if a.cache != nil {
			_ = a.cache.Close(context.Background()) // it only forgets what it has in memory
			a.cache = nil
		}
		a.err = fmt.Errorf("pdf: start the engine: %w", err)
		e.options.Log.Warn("pdf reader: cannot start", "err", err)
		return
	}
	a.pool = pool
	e.options.Log.Info("pdf reader: started")
}

// Close waits for the files that are being read and for a start that is under way, and ends the
// engine. Nothing is left of it but the folder of the cache. Further calls do nothing.
func (e *Engine) Close() error {
	e.mu.Lock()
	a, again := e.attempt, e.isClosed()
	if !again {
		close(e.closing)
	}
	e.mu.Unlock()
	if again || a == nil {
		return nil
	}
	<-a.over
	for range cap(e.slots) { // no file is being read, and none begins
		e.slots <- struct{}{}
	}
	if a.err != nil {
		return nil
	}
	err := a.pool.Close()
	if a.cache != nil {
		err = errors.Join(err, a.cache.Close(context.Background()))
	}
	if err != nil {
		return fmt.Errorf("pdf: close the engine: %w", err)
	}
	return nil
}

func (e *Engine) isClosed() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

// instance is one PDFium, for one file.
type instance struct {
	pdfium.Pdfium
	memory *memory
	kill   func() // interrupts it and throws it away; may be called at any time, and repeatedly
}

// instance makes a PDFium that is killed when ctx ends. The caller has a slot, kills it, and then
// calls release.
func (e *Engine) instance(ctx context.Context) (in *instance, release func(), err error) {
	pool, err := e.running(ctx)
	if err != nil {
		return nil, nil, err
	}
	select {
	case e.slots <- struct{}{}:
	case <-e.closing:
		return nil, nil, ErrClosed
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("pdf: wait for a free reader: %w", context.Cause(ctx))
	}
	e.creating.Lock()
	defer e.creating.Unlock()
	e.made = nil
	p, err := pool.GetInstanceWithContext(context.WithoutCancel(ctx))
	if err != nil {
		<-e.slots
		return nil, nil, fmt.Errorf("pdf: make a reader: %w", err)
	}
	if e.made == nil {
		panic("BUG: pdf: an instance without a memory of its own")
	}
	in = &instance{Pdfium: p, memory: e.made, kill: sync.OnceFunc(func() { _ = p.Kill() })}
	stop := context.AfterFunc(ctx, in.kill)
	return in, func() {
		stop()
		in.kill() // waits for a kill that runs
		<-e.slots
	}, nil
}

// memory is the memory of an instance. It grows by a quarter, as appending does, but never has more
// capacity than the limit; what it had before is garbage.
type memory struct {
	bytes []byte
	most  uint64
	size  atomic.Uint64 // for readers on other goroutines
}

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.most {
		return nil
	}
	if size > uint64(cap(m.bytes)) {
		had := m.bytes
		m.bytes = make([]byte, size, min(size+size/4, m.most))
		copy(m.bytes, had)
	}
	m.bytes = m.bytes[:size]
	m.size.Store(size)
	return m.bytes
}

// Free implements experimental.LinearMemory. The memory may still be in use by a call that is
// being interrupted; so it is left to the garbage collector.
func (m *memory) Free() {}

// exhausted reports whether the memory has come near to its limit: then that is why PDFium gave up.
func (m *memory) exhausted() bool { return m.size.Load() >= m.most-m.most/8 }
