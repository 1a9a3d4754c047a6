# What mdatagen writes appends a point's attributes one by one, and each growth of a list copies it: more than a third of all
# memory that a scrape needs. This has each point make room once for the attributes that its function and its options add.
# It changes nothing else, and fails where mdatagen does not write what it expects.
/^func \(m \*metric[A-Za-z0-9]+\) recordDataPoint\(/ {
	inside = 1
	room = gsub(/AttributeValue /, "&")
	if (/options \.\.\.MetricAttributeOption\)/) room = (room ? room " + " : "") "attributesOf(options)"
	functions++
}
{ print }
inside && /^\tdp\.Set(Int|Double)Value\(val\)$/ {
	print "\tdp.Attributes().EnsureCapacity(" room ")"
	inside = 0
	done++
}
END {
	if (functions == 0 || done != functions) {
		print "presize.awk: the generated code looks different: " done + 0 " of " functions + 0 " functions changed" > "/dev/stderr"
		exit 1
	}
}
