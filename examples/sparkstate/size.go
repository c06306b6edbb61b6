package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a flag that takes a number of bytes: 1000000, 512K, 64MB, 1.5GiB.
// K, M, G and T are powers of 1024, as they are for the JVM.
type size int64

var sizeUnits = []string{"", "K", "M", "G", "T"}

// Set parses a size.
func (s *size) Set(text string) error {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text[len(number):])), "B"), "I")
	n, err := strconv.ParseFloat(number, 64)
	if err == nil {
		for i, u := range sizeUnits {
			if unit != u {
				continue
			}
			if n *= math.Pow(1024, float64(i)); n >= 1 && n < math.MaxInt64 {
				*s = size(n)
				return nil
			}
		}
	}
	return fmt.Errorf("%q is no size; such as 512M or 2G", text)
}

// String prints the size in the largest unit that makes it a whole number.
func (s *size) String() string {
	n, i := int64(*s), 0
	for ; n != 0 && n%1024 == 0 && i < len(sizeUnits)-1; i++ {
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + sizeUnits[i]
}

// Type is what help calls the value.
func (s *size) Type() string { return "size" }
