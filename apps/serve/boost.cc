// Asio and Beast compiled once, here: the other files take their declarations alone.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
