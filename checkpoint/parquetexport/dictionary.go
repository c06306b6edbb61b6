package parquetexport

import (
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
)

// A dictionary pays where texts repeat, and costs more than all the rest where
// they do not, as those of a key often: pqarrow builds it, finds it too large,
// and writes the texts after all. So a few of them are looked at first.
const (
	sampleLen = 4096
	// fewSamples are too few to judge by, and too few to cost anything.
	fewSamples = 256
)

// repeated calls visit with the path of every column of texts, as Parquet names
// it, that has texts that repeat in the rows of a record.
func repeated(rec arrow.Record, visit func(path string)) {
	for i, f := range rec.Schema().Fields() {
		eachText(rec.Column(i), f.Name, func(texts *array.String, path string) {
			if repeats(texts) {
				visit(path)
			}
		})
	}
}

// eachText calls visit with every column of texts in an array.
func eachText(a arrow.Array, path string, visit func(texts *array.String, path string)) {
	switch a := a.(type) {
	case *array.String:
		visit(a, path)
	case *array.Struct:
		for i, f := range a.DataType().(*arrow.StructType).Fields() {
			eachText(a.Field(i), path+"."+f.Name, visit)
		}
	case *array.Map:
		eachText(a.Keys(), path+".key_value.key", visit)
		eachText(a.Items(), path+".key_value.value", visit)
	case *array.List:
		eachText(a.ListValues(), path+".list.element", visit)
	}
}

// repeats says whether a dictionary of texts pays: where a tenth of a full sample
// or more is in it already. Were all texts as frequent, there would then be no
// more than five samples' worth of different ones, and three or more of each in
// a full row group.
func repeats(texts *array.String) bool {
	step := max(texts.Len()/sampleLen, 1)
	seen := make(map[string]struct{}, min(texts.Len(), sampleLen))
	n := 0
	for i := 0; i < texts.Len(); i += step {
		if texts.IsValid(i) {
			seen[texts.Value(i)] = struct{}{}
			n++
		}
	}
	return n < fewSamples || len(seen) <= n*9/10
}
