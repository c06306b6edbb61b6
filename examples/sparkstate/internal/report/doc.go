// Package report draws the page that `sparkstate report` writes: one HTML file
// that needs no network, no script and no other file.
//
// What is shown is given as a [Page]: plain numbers and texts. This package
// decides how they look, and knows nothing of checkpoints.
//
// Three pictures of a store share the same columns, so that what is above each
// other is the same partition:
//
//	bars       rows of each partition now, the median, the line above which
//	           a partition is hot
//	heat map   the same partitions, a line for each batch, the newest on top
//	load map   (of all stores together) what of that can still be loaded
//
// There are at most [MaxColumns] columns and [MaxLines] lines. Where partitions
// are more, neighbours share a column, which then shows the fullest of them, and
// hot partitions keep one of their own: see [Ranges]. Where batches are more,
// the caller leaves the oldest out.
//
// Every picture has its numbers as a table beside it. The texts of a page come
// from files that anybody may have written, so they are of the type [Text],
// which shows what would otherwise be invisible, and html/template does the
// rest. The page forbids itself, by its Content-Security-Policy, to load or run
// anything.
package report
