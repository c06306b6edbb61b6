package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress shows on a terminal what is being read, once it has taken longer
// than a second. The returned function takes the line away again.
func (a *app) progress(what string) (done func()) {
	if !terminal(a.err) {
		return func() {}
	}
	start := time.Now()
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		shown := false
		for {
			select {
			case <-tick.C:
				shown = true
				fmt.Fprintf(a.err, "\r\033[K%s … %d s", what, int(time.Since(start).Seconds()))
			case <-stop:
				if shown {
					fmt.Fprint(a.err, "\r\033[K")
				}
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		running.Wait()
	})
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
