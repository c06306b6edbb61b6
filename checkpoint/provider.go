package checkpoint

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Format is the layout of the state files.
type Format uint8

const (
	// OtherFormat is a provider that this library does not know.
	OtherFormat Format = iota
	// HDFS is that of HDFSBackedStateStoreProvider: delta and snapshot files.
	HDFS
	// RocksDB is that of RocksDBStateStoreProvider: zips, SST files, changelogs.
	RocksDB
)

// Provider says who wrote the state.
type Provider struct {
	Format Format
	// Class is the class name that the checkpoint pins; empty where it pins
	// none.
	Class string
	// From says where Format is from: recorded as a class, inferred from the
	// files, or Spark's default where neither tells.
	From Source
}

const (
	hdfsClass    = "HDFSBackedStateStoreProvider"
	rocksDBClass = "RocksDBStateStoreProvider"
)

// Name returns the class without its package.
func (p Provider) Name() string {
	if p.Class != "" {
		return p.Class[strings.LastIndexByte(p.Class, '.')+1:]
	}
	switch p.Format {
	case HDFS:
		return hdfsClass
	case RocksDB:
		return rocksDBClass
	}
	return "an unknown provider"
}

// Provider returns who wrote the state. What the files look like counts for
// more than what the conf says, since a conf may be missing or damaged.
func (c *Checkpoint) Provider() Provider { return c.provider() }

func (c *Checkpoint) findProvider() Provider {
	p := Provider{Class: c.conf[ConfProviderClass], Format: HDFS, From: Default}
	switch p.Name() {
	case hdfsClass:
		if p.Class != "" {
			p.From = Recorded
		}
	case rocksDBClass:
		p.Format, p.From = RocksDB, Recorded
	default:
		p.Format, p.From = OtherFormat, Recorded
	}
	if seen, ok := c.findFormat(); ok && seen != p.Format {
		if p.Class != "" {
			c.warn(fmt.Errorf("offsets/%d names the provider %s, but the state files are of %s", c.confBatch, p.Class, Provider{Format: seen}.Name()))
			p.Class = ""
		}
		p.Format, p.From = seen, Inferred
	}
	return p
}

// findFormat looks for state files in the first partition that has any.
func (c *Checkpoint) findFormat() (Format, bool) {
	const look = 16
	for _, o := range c.operators {
		for i, p := range slices.Sorted(maps.Keys(o.dirs)) {
			if i == look {
				break
			}
			if f, ok := c.formatOf(o.dirs[p]); ok {
				return f, true
			}
			for _, s := range o.stores {
				if s.name == defaultStore {
					continue
				}
				if f, ok := c.formatOf(path.Join(o.dirs[p], s.name)); ok {
					return f, true
				}
			}
		}
	}
	return OtherFormat, false
}

// formatOf tells by the names in a directory who wrote its files. Where those of
// two formats lie together, it is HDFS.
func (c *Checkpoint) formatOf(dir string) (format Format, ok bool) {
	_ = c.eachEntry(dir, func(e fs.DirEntry) bool { // whoever reads it says what is wrong
		switch {
		case e.IsDir():
		case isHDFSFile(e.Name()):
			format, ok = HDFS, true
			return false
		case isRocksDBFile(e.Name()):
			format, ok = RocksDB, true
		}
		return true
	})
	return format, ok
}
